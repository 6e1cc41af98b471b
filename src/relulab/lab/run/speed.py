"""How fast this machine multiplies matrices: the yardstick for forecasts and benchmarks."""

import time

from relulab.core.threads import one_thread


@one_thread()
def product_rate(size: int = 1024, seconds: float = 0.1) -> float:
    """Best float32 matrix-product rate of one thread, in flops a second of process time."""
    import torch

    a, b, out = (torch.ones(size, size) for _ in range(3))
    torch.mm(a, b, out=out)
    best, until = 0.0, time.process_time() + seconds
    while time.process_time() < until:
        start = time.process_time()
        torch.mm(a, b, out=out)
        best = max(best, 2 * size**3 / (time.process_time() - start))
    return best
