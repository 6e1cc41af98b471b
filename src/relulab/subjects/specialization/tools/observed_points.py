"""The points near the boundary of a teacher node at which a student observes it, for networks of any depth (SS.T5)."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.lowest_gradient import lowest_alpha
from relulab.subjects.specialization.tools.nodes import Nodes
from relulab.subjects.specialization.tools.upper_boundaries import UpperBoundaries, upper_boundaries

SHARES = (0.0, 0.25, 0.5, 0.75)  # shares of the points that the bounds on |α_kj| leave out


class Observed(NamedTuple):
    """A set D' of points, what |α_kj| is at least there, and the boundaries of upper layers that pass near them."""

    inside: Bool[Tensor, " N"]
    alpha: float
    planes: Nodes
    left_out: int
    """number of points that were left out because a boundary of an upper layer that is aligned with j passes nearby"""


class ObservedPoints:
    """Sets D' for one teacher node. Everything is computed at the points within ε of its boundary only.

    Args:
        teacher: The teacher, with regular nodes.
        student: The student.
        x: Points, (N, d), in float64.
        node: The hyperplane of the teacher node j: weights (d,) and bias.
        j: Index of the teacher node.
        epsilon: ε, the alignment error allowed.
        everywhere: Whether points beside aligned boundaries of upper layers are kept, as in print.
    """

    def __init__(
        self, teacher: MLP, student: MLP, x: Float[Tensor, "N d"], node: tuple[Tensor, float], j: int, epsilon: float,
        everywhere: bool
    ) -> None:  # fmt: skip
        self.nets, self.node, self.j, self.epsilon, self.everywhere = (teacher, student), node, j, epsilon, everywhere
        w, b = node
        self.within = ((x @ w + b).abs() <= epsilon).nonzero()[:, 0]
        self.x, self.alpha = x, lowest_alpha(teacher, student, x[self.within], j)
        self._known: tuple[Tensor, UpperBoundaries] | None = None

    def sets(self, inside: Bool[Tensor, " N"], k: int, reach: float, enough: float) -> Iterator[Observed]:
        """Yield sets of points on which |α_kj| is at least this or that.

        Args:
            inside: Points of the band at which student k has the gate that is considered.
            k: Index of the student.
            reach: γε', up to where boundaries count as near.
            enough: Number of points that are needed if no boundary of an upper layer passes nearby. With fewer of
                them, these boundaries are not looked for.
        """
        alpha = torch.zeros(len(inside), dtype=self.alpha.dtype)
        alpha[self.within] = self.alpha[:, k]
        used, d = inside & (alpha > 0), self.x.shape[1]
        none = Nodes(self.x.new_zeros(0, d), self.x.new_zeros(0))
        if used.sum() < enough:
            yield Observed(used, float(alpha[used].min()) if used.any() else 0.0, none, 0)
            return
        points, upper = self._upper(used)
        left_out = 0
        if not self.everywhere:
            w, b = self.node
            beside = torch.zeros_like(used)
            beside[points] = upper.beside(w, b, self.epsilon, reach)
            left_out = int((used & beside).sum())
            used = used & ~beside
        sizes = alpha[used].sort().values
        for least in dict.fromkeys(float(sizes[int(share * len(sizes))]) for share in SHARES if len(sizes)):
            chosen = used & (alpha >= least)
            yield Observed(chosen, least, upper.near(chosen[points], reach), left_out)
        if not len(sizes):
            yield Observed(used, float(self.alpha[:, k].max()), none, left_out)

    def _upper(self, used: Tensor) -> tuple[Tensor, UpperBoundaries]:
        """Boundaries of the upper layers at points that include those in use. Later sets are often parts of earlier."""
        if self._known is None or not torch.isin(used.nonzero()[:, 0], self._known[0]).all():
            known = used if self._known is None else used | torch.zeros_like(used).index_fill(0, self._known[0], True)
            points, (teacher, student) = known.nonzero()[:, 0], self.nets
            x = self.x[points]
            both = [upper_boundaries(teacher, x, self.j), upper_boundaries(student, x)]
            self._known = points, UpperBoundaries.joined(both)
        return self._known
