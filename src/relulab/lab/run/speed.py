"""The speed of matrix products on this machine, for time estimates and benchmarks."""

import time

from relulab.core.threads import one_thread


@one_thread()
def product_rate(size: int = 1024, seconds: float = 0.1, *, fastest: bool = False) -> float:
    """Measure the best rate of a float32 matrix product on one thread, in flops per second of process time.

    Args:
        size: The number of rows and columns of the matrices.
        seconds: How long to measure.
        fastest: Whether to use the faster one of the two libraries of ``relulab.core.products``, as relulab does for
            large matrices, instead of PyTorch's own product.
    """
    import torch

    from relulab.core.products import has_faster_products, products

    a = torch.ones(1, size, size)

    def product() -> None:
        if fastest and has_faster_products():
            next(products(a, a))
        else:
            torch.mm(a[0], a[0])

    product()
    best, until = 0.0, time.process_time() + seconds
    while time.process_time() < until:
        start = time.process_time()
        product()
        best = max(best, 2 * size**3 / (time.process_time() - start))
    return best
