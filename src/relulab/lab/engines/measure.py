"""One unit, measured on one thread: what every engine does at its far end."""

import time
from collections.abc import Callable

from relulab.lab.store import encode
from relulab.lab.study import Study, Unit


def measured(study: Study, unit: Unit, tick: Callable[[int], None]) -> tuple[bytes, float]:
    """The unit's result as the bytes of a netCDF file, and the seconds it took.

    One thread: two of them lose on small products, and the bits would depend on their number.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    start = time.perf_counter()
    try:
        return encode(study.measure(unit, tick)), time.perf_counter() - start
    finally:
        torch.set_num_threads(threads)
