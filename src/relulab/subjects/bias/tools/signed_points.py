"""Points of two classes as unit vectors with the signs of their labels, sorted for a pass over all pairs."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled

BLOCK = 512  # points per chunk: the product of two chunks fits in the cache


class Chunk(NamedTuple):
    """Points of one label, as a range of the sorted rows, with the norms of the first and the last row."""

    start: int
    stop: int
    label: int
    longest: float
    shortest: float


class Signed(NamedTuple):
    """Points as u_i = y_i x_i/‖x_i‖, sorted by label and then by norm.

    Every block of pairs then has one condition and similar norms. With the signs of the labels, the two conditions of
    eq. 1 are similar: u_iᵀu_j > 0 for equal labels and u_iᵀu_j ≥ 0 for different labels. ``order`` contains the rows of
    the data; ``norms`` are relative to the largest norm.
    """

    u: Float64[Tensor, "n d"]
    norms: Float64[Tensor, " n"]
    order: Int64[Tensor, " n"]
    labels: Float64[np.ndarray, " n"]
    chunks: tuple[Chunk, ...]

    @property
    def tolerance(self) -> float:
        """d ε, the largest rounding error of a zero inner product: d roundings of ε/2 in the product, and two in u."""
        return self.u.shape[1] * torch.finfo(torch.float64).eps


def signed(data: Labeled) -> Signed:
    """Convert points to sorted signed unit vectors; each entry is rounded once, up to a common factor of its row.

    Args:
        data: Points, (n, d), with labels −1 and 1.
    """
    size = data.X.abs().amax(1)
    if float(size.max()) > 1e150:
        raise UserError(
            f"expected entries up to 1e150, got {float(size.max()):.1g}, whose products overflow in float64: divide "
            "the points by their norms, which changes no sign of an inner product"
        )
    power = np.frexp(size.numpy())[1]  # dividing by powers of 2 does not round
    u = torch.from_numpy(np.ldexp(data.X.numpy(), -power[:, None]))
    unit = u.norm(dim=1)
    norms = torch.from_numpy(np.ldexp(unit.numpy(), power))
    order = torch.from_numpy(np.lexsort((-norms.numpy(), -data.y.numpy())))
    u = (data.y / torch.where(unit > 0, unit, 1))[order, None] * u[order]
    norms = (norms / norms.max().clamp(min=torch.finfo(torch.float64).tiny))[order]
    return _chunked(u, norms, order, data.y.numpy()[order.numpy()])


def part(s: Signed, rows: Int64[np.ndarray, " k"]) -> Signed:
    """Select sorted rows, in their order.

    Args:
        s: The points with their signs.
        rows: Sorted rows to keep.
    """
    these = torch.from_numpy(rows)
    return _chunked(s.u[these], s.norms[these], s.order[these], s.labels[rows])


def _chunked(u: Tensor, norms: Tensor, order: Tensor, labels: np.ndarray) -> Signed:
    positive, chunks = int((labels == 1).sum()), []
    for label, first, end in ((1, 0, positive), (-1, positive, len(u))):
        for start in range(first, end, BLOCK):
            stop = min(start + BLOCK, end)
            chunks.append(Chunk(start, stop, label, float(norms[start]), float(norms[stop - 1])))
    return Signed(u, norms, order, labels, tuple(chunks))
