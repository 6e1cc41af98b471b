"""The speed of matrix products on this machine, for time estimates and benchmarks."""

import time

from relulab.core.threads import one_thread


@one_thread()
def product_rate(size: int = 1024, seconds: float = 0.1) -> float:
    """Measure the best rate of a float32 matrix product on one thread, in flops per second of process time.

    Args:
        size: The number of rows and columns of the matrices.
        seconds: How long to measure.
    """
    import torch

    a, b, out = (torch.ones(size, size) for _ in range(3))
    torch.mm(a, b, out=out)
    best, until = 0.0, time.process_time() + seconds
    while time.process_time() < until:
        start = time.process_time()
        torch.mm(a, b, out=out)
        best = max(best, 2 * size**3 / (time.process_time() - start))
    return best
