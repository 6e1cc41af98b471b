"""Orthogonal separability of a data set of two classes (IB eq. 1), and of a network's features."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64
from torch import Tensor

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.data.labeled import Labeled, labeled
from relulab.lab.instrument import instrument
from relulab.subjects.bias.tools.all_pairs import Kind, tally
from relulab.subjects.bias.tools.separable_subset import separable_subset
from relulab.subjects.bias.tools.signed_points import Signed, signed


class Pair(NamedTuple):
    """Two points by their rows, i ≤ j, with x_iᵀx_j and the cosine of their angle; with a zero point it counts as 0."""

    i: int
    j: int
    inner: float
    cosine: float


class Pairs(NamedTuple):
    """The pairs of equal labels, or those of different ones."""

    count: int
    broken: int
    inner: Pair
    """that of the least inner product for equal labels, of the greatest for different ones"""
    cosine: Pair
    """the same of cosines"""


class Separability(NamedTuple):
    """What a look at all pairs i ≤ j found; a zero point breaks eq. (1) with itself."""

    n: int
    d: int
    equal: Pairs
    different: Pairs
    worst: tuple[Pair, ...]
    """pairs that break it, the worst cosine first"""
    kept: Int64[Tensor, " k"] | None
    """rows of a subset on which it holds, by the greedy rule of ``separable_subset``"""

    @property
    def broken(self) -> int:
        """How many pairs break it."""
        return self.equal.broken + self.different.broken

    @property
    def holds(self) -> bool:
        """Whether the data are orthogonally separable."""
        return not self.broken

    @property
    def violation(self) -> float:
        """The largest inner product of the wrong sign, in absolute value; 0 if there is none."""
        return max(0.0, -self.equal.inner.inner, self.different.inner.inner)

    @property
    def cosine_violation(self) -> float:
        """The largest cosine of the wrong sign, in absolute value; 0 if there is none."""
        return max(0.0, -self.equal.cosine.cosine, self.different.cosine.cosine)


@instrument(source="IB eq. 1", ids=("IB.D",))
@by_cpu
def separability(
    X: Tensor | np.ndarray | Sequence, y: Tensor | np.ndarray | Sequence, *, pairs: int = 10, subset: bool = True
) -> Separability:
    r"""Whether x_iᵀx_j > 0 for all points of equal labels and x_iᵀx_j ≤ 0 for different ones, and by how much.

    An inner product within d ε ‖x_i‖‖x_j‖ of zero counts as zero (ε = 2⁻⁵²): no rounding of the product of two points
    exceeds that. Then the pair breaks the rule if its labels are equal and keeps it if they differ.

    All pairs are looked at, in blocks, so memory does not grow with their number. Nothing but the signs of inner
    products matters: points may be rescaled by positive factors, and turned.

    Args:
        X: Points, (n, d), a point a row.
        y: Labels, (n,), of any two values.
        pairs: How many of the worst pairs are given.
        subset: Whether a separable subset is looked for.

    >>> found = separability([[1.0, 0.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -2.0]], [1, 1, -1, -1])
    >>> found.holds, found.equal.count, found.equal.broken, found.different.count, found.different.broken
    (False, 6, 0, 4, 1)
    >>> found.worst[0].i, found.worst[0].j, found.worst[0].inner
    (0, 3, 1.0)
    """
    if pairs < 0:
        raise UserError(f"{pairs} worst pairs: 0 or more")
    data = labeled(X, y, strict=False)
    s = signed(data)
    seen = tally(s, pairs)
    k, l = (int((data.y == label).sum()) for label in (1, -1))
    equal = _pairs(data, s, seen.kinds[True], (k * (k + 1) + l * (l + 1)) // 2)
    different = _pairs(data, s, seen.kinds[False], k * l)
    worst = sorted((value, _pair(data, s, value, a, b)) for value, a, b in seen.worst)
    kept = separable_subset(s, seen.degree) if subset else None
    n, d = data.X.shape
    return Separability(n, d, equal, different, tuple(pair for _, pair in worst), kept)


def _pairs(data: Labeled, s: Signed, kind: Kind, count: int) -> Pairs:
    (_, a, b), cosine = kind.inner, kind.cosine
    value = float(s.u[a] @ s.u[b])
    return Pairs(count, kind.broken, _pair(data, s, value, a, b), _pair(data, s, *cosine))


def _pair(data: Labeled, s: Signed, value: float, a: int, b: int) -> Pair:
    """A pair of sorted rows with its signed cosine, as a user numbers and signs it."""
    i, j = sorted((int(s.order[a]), int(s.order[b])))
    if abs(value) <= s.tolerance:
        return Pair(i, j, 0.0, 0.0)
    return Pair(i, j, float(data.X[i] @ data.X[j]), value * float(data.y[i] * data.y[j]))
