"""Large matrix products in single precision, by the faster of the two libraries that PyTorch contains.

PyTorch multiplies matrices with MKL, which uses AVX-512 on Intel's processors only. On others, oneDNN, which PyTorch
uses for convolutions, takes half of the time. Which library is used depends on the processor and on the sizes alone,
never on measured times, so that a computation gives the same bits each time.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

SMALLEST = 3e6
"""multiply-adds of one matrix product from which oneDNN is faster, because a call of it takes longer to start"""


@cache
def has_faster_products() -> bool:
    """Whether this processor has AVX-512 that MKL does not use, and this PyTorch has oneDNN's matrix product."""
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    about = Path("/proc/cpuinfo")
    vendor = about.read_text(errors="replace")[:1000] if about.is_file() else ""
    return torch.backends.cpu.get_cpu_capability().startswith("AVX512") and "AuthenticAMD" in vendor


def is_large(m: int, k: int, n: int, like: Tensor) -> bool:
    """Whether the product of an m × k with a k × n matrix is computed by oneDNN.

    Args:
        m: Rows of the first matrix.
        k: Columns of the first matrix.
        n: Columns of the second matrix.
        like: One of the matrices, for the data type and the device.
    """
    single = like.dtype == torch.float32 and like.device.type == "cpu"
    return single and m * k * n >= SMALLEST and has_faster_products()


def product_flops(m: int, k: int, n: int) -> float:
    """Return the flops of PyTorch's own product that take as long as this product in single precision, for estimates.

    Args:
        m: Rows of the first matrix.
        k: Columns of the first matrix.
        n: Columns of the second matrix.
    """
    large = m * k * n >= SMALLEST and has_faster_products()
    return 2.0 * m * k * n * (0.5 if large else 1.0)


def products(
    a: Float[Tensor, "lane m k"], b: Float[Tensor, "lane k n"], c: Float[Tensor, "lane 1 n"] | None = None
) -> Iterator[Float[Tensor, "m n"]]:
    """Yield a b + c of every lane, computed by oneDNN.

    Args:
        a: First matrices, in single precision.
        b: Second matrices, in single precision.
        c: Rows to add to the rows of the products, or None.
    """
    for i in range(len(a)):
        yield torch.ops.mkldnn._linear_pointwise(a[i], b[i].mT, None if c is None else c[i, 0], "none", [], "")
