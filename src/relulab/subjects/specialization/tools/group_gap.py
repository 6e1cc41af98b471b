"""How far two matrices of expectations are apart, relative to the first one, with a standard error."""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

GROUPS = 8  # disjoint groups of points, from which the standard error is estimated
FEWEST = 2 * GROUPS  # with fewer points the standard error is unknown


class GroupGap(NamedTuple):
    """‖A − B‖²/‖A‖² for expectations A and B: an estimate without bias from sampling, and its standard error."""

    squared: float
    error: float

    @property
    def relative(self) -> float:
        """The relative difference ‖A − B‖/‖A‖; 0 if the estimate of its square is negative."""
        return sqrt(max(self.squared, 0.0))

    @property
    def relative_error(self) -> float:
        """The standard error of ``relative``."""
        spread = max(self.relative, sqrt(self.error))
        return self.error / (2 * spread) if spread else 0.0


def groups_of(x: Float[Tensor, "N d"]) -> list[Float[Tensor, "N_ d"]]:
    """Divide points into disjoint groups, every eighth point into the same one; a single group if there are few.

    Args:
        x: Points, (N, d).
    """
    return [x[i::GROUPS] for i in range(GROUPS)] if len(x) >= FEWEST else [x]


def group_gap(sides: Sequence[tuple[Tensor, Tensor]]) -> GroupGap:
    r"""Estimate ‖A − B‖²/‖A‖² from the pair (A_i, B_i) of each of G disjoint groups of points.

    The squared norm of one estimate contains its sampling error, which products of two independent groups do not:
    ‖A − B‖² is estimated by the mean of ⟨A_i − B_i, A_j − B_j⟩ over i ≠ j, and ‖A‖² in the same way. The standard error
    is that of the jackknife, which leaves out one group at a time. With a single group it is infinite.

    Args:
        sides: The two sides in each group.
    """
    scale = max((float(side.abs().max()) for pair in sides for side in pair if side.numel()), default=0.0)
    if not scale:
        return GroupGap(0.0, 0.0)
    both = [
        torch.stack([a.flatten() / scale for a, _ in sides]),
        torch.stack([((a - b) / scale).flatten() for a, b in sides]),
    ]
    size, gap = (rows @ rows.T for rows in both)
    if len(sides) == 1:
        return GroupGap(float(gap / size), float("inf"))
    found = [_ratio(gap, size, [j for j in range(len(sides)) if j != i]) for i in range(len(sides))]
    mean = sum(found) / len(found)
    variance = (len(found) - 1) / len(found) * sum((r - mean) ** 2 for r in found)
    return GroupGap(_ratio(gap, size, list(range(len(sides)))), sqrt(variance))


def _ratio(gap: Float[Tensor, "G G"], size: Float[Tensor, "G G"], groups: list[int]) -> float:
    """Return the ratio of the sums over pairs of different groups."""
    sums = [m[groups][:, groups].sum() - m.diagonal()[groups].sum() for m in (gap, size)]
    return float(sums[0] / sums[1])
