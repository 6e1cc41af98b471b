"""Orthogonal separability of a data set with two classes (IB eq. 1)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64
from torch import Tensor

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.core.short_repr import counted
from relulab.data.labeled import Labeled, labeled
from relulab.lab.instrument import instrument
from relulab.subjects.bias.tools.all_pairs import Kind, tally
from relulab.subjects.bias.tools.separable_subset import separable_subset
from relulab.subjects.bias.tools.signed_points import Signed, signed


class Pair(NamedTuple):
    """Two points, by their row numbers i ≤ j, with x_iᵀx_j and the cosine of their angle (0 for a zero point)."""

    i: int
    j: int
    inner: float
    cosine: float


class Pairs(NamedTuple):
    """All pairs with equal labels, or all pairs with different labels."""

    count: int
    broken: int
    inner: Pair
    """the pair with the least inner product for equal labels, with the greatest for different labels"""
    cosine: Pair
    """the pair with the least cosine for equal labels, with the greatest for different labels"""


class Separability(NamedTuple):
    """Result of ``separability`` over all pairs i ≤ j. A zero point violates eq. 1 with itself."""

    n: int
    d: int
    equal: Pairs
    different: Pairs
    worst: tuple[Pair, ...]
    """pairs that violate eq. 1, the worst cosine first"""
    kept: Int64[Tensor, " k"] | None
    """rows of an orthogonally separable subset, found by the greedy rule of ``separable_subset``"""

    def __repr__(self) -> str:
        pairs = self.equal.count + self.different.count
        found = "separable" if self.holds else f"{self.broken:,} of {pairs:,} pairs violate eq. 1"
        subset = "" if self.kept is None or self.holds else f"; a subset of {len(self.kept):,} is separable"
        return f"Separability({counted(self.n, 'point')} with {counted(self.d, 'input')}: {found}{subset})"

    @property
    def broken(self) -> int:
        """The number of pairs that violate eq. 1."""
        return self.equal.broken + self.different.broken

    @property
    def holds(self) -> bool:
        """Whether the data are orthogonally separable."""
        return not self.broken

    @property
    def violation(self) -> float:
        """The largest absolute value of an inner product with the wrong sign; 0 if there is none."""
        return max(0.0, -self.equal.inner.inner, self.different.inner.inner)

    @property
    def cosine_violation(self) -> float:
        """The largest absolute value of a cosine with the wrong sign; 0 if there is none."""
        return max(0.0, -self.equal.cosine.cosine, self.different.cosine.cosine)


@instrument(source="IB eq. 1", ids=("IB.D",))
@by_cpu
def separability(
    X: Tensor | np.ndarray | Sequence, y: Tensor | np.ndarray | Sequence, *, pairs: int = 10, subset: bool = True
) -> Separability:
    r"""Test whether data are orthogonally separable: x_iᵀx_j > 0 for equal labels, x_iᵀx_j ≤ 0 for different labels.

    An inner product within d ε ‖x_i‖‖x_j‖ of zero counts as zero (ε = 2⁻⁵²); this bounds its rounding error. The pair
    then violates the condition if its labels are equal, and satisfies it if they differ.

    All pairs are checked, in blocks, so that memory does not grow with their number. Only the signs of inner products
    matter: the result does not change when points are rescaled by positive factors or all rotated together.

    Args:
        X: Points, (n, d), one row per point.
        y: Labels, (n,), with any two values.
        pairs: Number of worst pairs to return.
        subset: Whether to search for an orthogonally separable subset.

    >>> result = separability([[1.0, 0.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -2.0]], [1, 1, -1, -1])
    >>> result.holds, result.equal.count, result.equal.broken, result.different.count, result.different.broken
    (False, 6, 0, 4, 1)
    >>> result.worst[0].i, result.worst[0].j, result.worst[0].inner
    (0, 3, 1.0)
    """
    if pairs < 0:
        raise UserError(f"expected pairs ≥ 0, got {pairs}: it is the number of worst pairs to return")
    data = labeled(X, y, strict=False)
    s = signed(data)
    counts = tally(s, pairs)
    k, l = (int((data.y == label).sum()) for label in (1, -1))
    equal = _pairs(data, s, counts.kinds[True], (k * (k + 1) + l * (l + 1)) // 2)
    different = _pairs(data, s, counts.kinds[False], k * l)
    worst = sorted((value, _pair(data, s, value, a, b)) for value, a, b in counts.worst)
    kept = separable_subset(s, counts.degree) if subset else None
    n, d = data.X.shape
    return Separability(n, d, equal, different, tuple(pair for _, pair in worst), kept)


def _pairs(data: Labeled, s: Signed, kind: Kind, count: int) -> Pairs:
    (_, a, b), cosine = kind.inner, kind.cosine
    value = float(s.u[a] @ s.u[b])
    return Pairs(count, kind.broken, _pair(data, s, value, a, b), _pair(data, s, *cosine))


def _pair(data: Labeled, s: Signed, value: float, a: int, b: int) -> Pair:
    """Convert a pair of sorted rows with its signed cosine to the row numbers and the sign of the user's data."""
    i, j = sorted((int(s.order[a]), int(s.order[b])))
    if abs(value) <= s.tolerance:
        return Pair(i, j, 0.0, 0.0)
    return Pair(i, j, float(data.X[i] @ data.X[j]), value * float(data.y[i] * data.y[j]))
