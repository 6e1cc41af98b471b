"""Measure one unit on one thread, as all engines do in their workers."""

import time

from relulab.core.threads import one_thread
from relulab.lab.run.store import encode
from relulab.lab.study import Study, Tick, Unit


@one_thread()
def measured(study: Study, unit: Unit, tick: Tick) -> tuple[bytes, float]:
    """Measure a unit and return its result as the bytes of a netCDF file, and the seconds it took.

    It runs on one thread because the bits would depend on the number of threads.
    """
    start = time.perf_counter()
    return encode(study.measure(unit, tick)), time.perf_counter() - start
