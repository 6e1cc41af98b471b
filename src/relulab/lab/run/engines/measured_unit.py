"""One unit, measured on one thread: what every engine does at its far end."""

import time

from relulab.core.threads import one_thread
from relulab.lab.run.store import encode
from relulab.lab.study import Study, Tick, Unit


@one_thread()
def measured(study: Study, unit: Unit, tick: Tick) -> tuple[bytes, float]:
    """The unit's result as the bytes of a netCDF file, and the seconds it took.

    One thread, also because the bits would depend on their number.
    """
    start = time.perf_counter()
    return encode(study.measure(unit, tick)), time.perf_counter() - start
