"""Points of two classes as unit vectors with the signs of their labels, sorted for a look at all pairs."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled

BLOCK = 512  # points of a chunk: a product of two stays in the cache while it is looked at


class Chunk(NamedTuple):
    """Some points of one label, as a range of the sorted rows; norms are those of its first and last row."""

    start: int
    stop: int
    label: int
    longest: float
    shortest: float


class Signed(NamedTuple):
    """Points as u_i = y_i x_i/‖x_i‖, by label and then by norm, so that a block of pairs has one rule and like norms.

    With signs in the points both rules look alike: u_iᵀu_j > 0 for equal labels, u_iᵀu_j ≥ 0 for different ones.
    ``order`` gives the rows of the data, ``norms`` are relative to the largest.
    """

    u: Float64[Tensor, "n d"]
    norms: Float64[Tensor, " n"]
    order: Int64[Tensor, " n"]
    labels: Float64[np.ndarray, " n"]
    chunks: tuple[Chunk, ...]

    @property
    def tolerance(self) -> float:
        """d ε, what an inner product of zero can become at most: d roundings of ε/2 in the product, and two in u."""
        return self.u.shape[1] * torch.finfo(torch.float64).eps


def signed(data: Labeled) -> Signed:
    """The points with their signs, made so that an entry of u is rounded once, but for a factor common to its row."""
    size = data.X.abs().amax(1)
    if float(size.max()) > 1e150:
        raise UserError(
            f"entries up to {float(size.max()):.1g}, whose products leave the range of float64: divide the points by "
            "their norms, which changes no sign of an inner product"
        )
    power = np.frexp(size.numpy())[1]  # powers of 2, by which entries are divided without rounding
    u = torch.from_numpy(np.ldexp(data.X.numpy(), -power[:, None]))
    unit = u.norm(dim=1)
    norms = torch.from_numpy(np.ldexp(unit.numpy(), power))
    order = torch.from_numpy(np.lexsort((-norms.numpy(), -data.y.numpy())))
    u = (data.y / torch.where(unit > 0, unit, 1))[order, None] * u[order]
    norms = (norms / norms.max().clamp(min=torch.finfo(torch.float64).tiny))[order]
    return _chunked(u, norms, order, data.y.numpy()[order.numpy()])


def part(s: Signed, rows: Int64[np.ndarray, " k"]) -> Signed:
    """Some of the sorted rows, in their order."""
    these = torch.from_numpy(rows)
    return _chunked(s.u[these], s.norms[these], s.order[these], s.labels[rows])


def _chunked(u: Tensor, norms: Tensor, order: Tensor, labels: np.ndarray) -> Signed:
    positive, chunks = int((labels == 1).sum()), []
    for label, first, end in ((1, 0, positive), (-1, positive, len(u))):
        for start in range(first, end, BLOCK):
            stop = min(start + BLOCK, end)
            chunks.append(Chunk(start, stop, label, float(norms[start]), float(norms[stop - 1])))
    return Signed(u, norms, order, labels, tuple(chunks))
