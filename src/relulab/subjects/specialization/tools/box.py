"""Boxes: the open regions of input space on which statements about whole functions are checked."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.nets.hooks import points
from relulab.subjects.specialization.tools.nodes import Nodes


class Box(NamedTuple):
    """All x with low ≤ x ≤ high, coordinate by coordinate."""

    low: Float[Tensor, " d"]
    high: Float[Tensor, " d_"]

    @classmethod
    def of(cls, x: Tensor) -> "Box":
        """The box that points span, in float64.

        >>> Box.of(torch.tensor([[0.0, 3.0], [1.0, 2.0]])).high.tolist()
        [1.0, 3.0]
        """
        x = points(x).double()
        if x.dim() != 2 or not x.numel():
            raise UserError(f"points of shape {tuple(x.shape)}: rows of d entries were expected, at least one")
        return cls(x.amin(0), x.amax(0))

    @classmethod
    def around(cls, d: int, half: float = 1.0) -> "Box":
        """The cube [−half, half]^d in float64."""
        return cls(*torch.full((2, d), half, dtype=torch.float64).mul(torch.tensor([[-1.0], [1.0]])).unbind())

    def fits(self, d: int) -> "Box":
        """This box in float64, if it is an open region of R^d."""
        low, high = self.low.double(), self.high.double()
        flat = (low == high).nonzero()[:, 0].tolist() if len(low) == len(high) == d else []
        if flat:
            raise UserError(
                f"input {flat[0]} has one value only, {float(low[flat[0]]):g}: a box needs room in every direction, so "
                "give points in which it varies or networks without that input"
            )
        if not len(low) == len(high) == d or not ((low < high) & (high - low).isfinite()).all():
            raise UserError(f"a box of {len(low)} and {len(high)} ends for {d} inputs: as many, finite, low < high")
        return Box(low, high)

    @property
    def middle(self) -> Float[Tensor, " d"]:
        return self.low + (self.high - self.low) / 2

    @property
    def size(self) -> Float[Tensor, ""]:
        """Half the length of the longest side."""
        return (self.high - self.low).max() / 2

    @property
    def farthest(self) -> Float[Tensor, " d"]:
        """The largest |x_i| of each coordinate."""
        return torch.maximum(self.low.abs(), self.high.abs())

    @property
    def framed(self) -> "Box":
        """The same box with its middle as origin and its size as unit."""
        return Box((self.low - self.middle) / self.size, (self.high - self.middle) / self.size)

    def reach(self, nodes: Nodes) -> Float[Tensor, "2 n"]:
        """The least and the largest value of wᵀx + b of every node on the box, each taken at a corner."""
        at, spread = nodes.w @ self.middle + nodes.b, nodes.w.abs() @ ((self.high - self.low) / 2)
        return torch.stack([at - spread, at + spread])

    def draw(self, n: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
        """Points spread evenly over the box."""
        u = torch.rand(n, len(self.low), generator=generator, dtype=self.low.dtype)
        return self.low + u * (self.high - self.low)
