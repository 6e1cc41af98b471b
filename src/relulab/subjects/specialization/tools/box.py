"""Boxes: regions of the input space on which statements about functions are checked."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.ranges import above, at_least
from relulab.core.short_repr import short_repr
from relulab.nets.hooks import points
from relulab.subjects.specialization.tools.nodes import Nodes


class Box(NamedTuple):
    """All x with low ≤ x ≤ high in every coordinate.

    Args:
        low: The lower limits, (d,); ``Box.of(x)`` is the smallest box around points.
        high: The upper limits, (d,); ``Box.of(x)`` is the smallest box around points.
    """

    low: Float[Tensor, " d"]
    high: Float[Tensor, " d_"]

    __repr__ = short_repr

    @classmethod
    def of(cls, x: Tensor) -> "Box":
        """The smallest box that contains all points, in float64.

        Args:
            x: Points, (N, d), at least one.

        >>> Box.of(torch.tensor([[0.0, 3.0], [1.0, 2.0]])).high.tolist()
        [1.0, 3.0]
        """
        x = points(x).double()
        if x.dim() != 2 or not x.numel():
            raise UserError(f"points have shape {tuple(x.shape)}: expected (points, inputs) with at least one point")
        return cls(x.amin(0), x.amax(0))

    @classmethod
    def around(cls, d: int, half: float = 1.0) -> "Box":
        """The cube [−half, half]^d in float64.

        Args:
            d: Number of inputs, at least 1.
            half: Half the length of each side, above 0.
        """
        at_least(1, d=d)
        above(0, half=half)
        return cls(*torch.full((2, d), half, dtype=torch.float64).mul(torch.tensor([[-1.0], [1.0]])).unbind())

    def fits(self, d: int) -> "Box":
        """Return this box in float64, or raise an error if it has no interior in R^d.

        Args:
            d: Number of inputs.
        """
        low, high = self.low.double(), self.high.double()
        flat = (low == high).nonzero()[:, 0].tolist() if len(low) == len(high) == d else []
        if flat:
            raise UserError(
                f"input {flat[0]} has only one value, {float(low[flat[0]]):g}, so the box has no interior: use points "
                "in which this input varies, or networks without it"
            )
        if not len(low) == len(high) == d or not ((low < high) & (high - low).isfinite()).all():
            raise UserError(
                f"got a box with {len(low)} lower and {len(high)} upper limits for {d} inputs: expected {d} finite "
                "limits each, with low < high"
            )
        return Box(low, high)

    @property
    def middle(self) -> Float[Tensor, " d"]:
        """The center."""
        return self.low + (self.high - self.low) / 2

    @property
    def size(self) -> Float[Tensor, ""]:
        """Half the length of the longest side."""
        return (self.high - self.low).max() / 2

    @property
    def farthest(self) -> Float[Tensor, " d"]:
        """The largest |x_i| in the box, for each coordinate i."""
        return torch.maximum(self.low.abs(), self.high.abs())

    @property
    def framed(self) -> "Box":
        """The same box with its center as origin and its size as unit."""
        return Box((self.low - self.middle) / self.size, (self.high - self.middle) / self.size)

    def reach(self, nodes: Nodes) -> Float[Tensor, "2 n"]:
        """The smallest and the largest value of wᵀx + b on the box, for every node. Both are attained at corners.

        Args:
            nodes: Nodes with weights (n, d) and biases (n,).
        """
        at, spread = nodes.w @ self.middle + nodes.b, nodes.w.abs() @ ((self.high - self.low) / 2)
        return torch.stack([at - spread, at + spread])

    def draw(self, n: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
        """Draw points uniformly from the box.

        Args:
            n: Number of points.
            generator: Random generator of torch.
        """
        at_least(0, n=n)
        u = torch.rand(n, len(self.low), generator=generator, dtype=self.low.dtype)
        return self.low + u * (self.high - self.low)
