"""Measure one unit on one thread, as all engines do in their workers."""

import time
import warnings
from functools import cache
from typing import Any

import xarray as xr

from relulab.core.alerts import Diverged
from relulab.core.progress_bar import quiet
from relulab.core.threads import one_thread
from relulab.lab.diverged import NAME as DIVERGED_AT
from relulab.lab.outside_code import blamed, expected
from relulab.lab.run.environment import environment
from relulab.lab.run.unit_file import encode_unit
from relulab.lab.study import Study, Tick, Unit, place_of


@one_thread()
def measured(study: Study, unit: Unit, tick: Tick, device: str = "cpu") -> tuple[bytes, float]:
    """Measure a unit and return the bytes of its file and the seconds it took.

    It runs on one thread because the bits would depend on the number of threads.

    Args:
        study: The study.
        unit: The unit.
        tick: Called with the seed-steps done.
        device: The device for training, which is recorded with the environment.
    """
    start = time.perf_counter()
    with quiet(), blamed(type(study).__module__, f"in measure() of the unit {unit.name}"):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", Diverged)
            data = study.measure(unit, tick)
        expected(f"{place_of(study)}: measure()", xr.Dataset, data)
        for w in told:
            if w.category is not Diverged or DIVERGED_AT not in data:  # otherwise claims and figures will say it
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
        return encode_unit(data, _here(device)), time.perf_counter() - start


@cache
def _here(device: str) -> dict[str, Any]:
    """The environment of this process, which takes longer to find out than a small unit."""
    return environment(device)
