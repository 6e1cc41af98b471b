"""Measure one unit on one thread, as all engines do in their workers."""

import time

import xarray as xr

from relulab.core.errors import UserError
from relulab.core.threads import one_thread
from relulab.lab.outside_code import blamed, expected
from relulab.lab.run.store import encode
from relulab.lab.study import Study, Tick, Unit, place_of


@one_thread()
def measured(study: Study, unit: Unit, tick: Tick, run_hash: str | None = None) -> tuple[bytes, float]:
    """Measure a unit and return its result as the bytes of a netCDF file, and the seconds it took.

    It runs on one thread because the bits would depend on the number of threads.

    Args:
        study: The study.
        unit: The unit.
        tick: Called with the seed-steps done.
        run_hash: The hash of the study in the process that named the run; None if this is that process.
    """
    if run_hash not in (None, study.hash):
        raise UserError(
            f"{study.name}: a worker found other code than the run was started with, because a file was edited or the "
            "worker has another version: run the same command again"
        )
    start = time.perf_counter()
    with blamed(type(study).__module__, f"in measure() of the unit {unit.name}"):
        data = study.measure(unit, tick)
        expected(f"{place_of(study)}: measure()", xr.Dataset, data)
        return encode(data), time.perf_counter() - start
