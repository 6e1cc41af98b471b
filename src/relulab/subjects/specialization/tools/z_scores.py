"""Checks that means are zero, by z-scores, for conditions on the distribution of given points."""

import math

from jaxtyping import Float
from scipy.special import ndtr, stdtrit
from torch import Tensor

from relulab.lab.show.words import number
from relulab.lab.theorem import Check

SIGMAS = 4.0  # a number agrees with its expectation within this many standard errors


def z_scores(says: str, values: Float[Tensor, "N k"], rounding: float = 0.0) -> Check:
    """Check that every column has mean zero, by the largest mean in standard errors.

    Args:
        says: What is checked.
        values: One row per point, at least two.
        rounding: Added to the standard errors.
    """
    z = values.mean(0) / (values.std(0) / math.sqrt(len(values)) + rounding)
    return by_chance(says, float(z.abs().max()), values.shape[1], len(values))


def by_chance(says: str, z: float, count: int, n: int) -> Check:
    """Check that the largest of some z-scores can be chance.

    Args:
        says: What is checked.
        z: The largest z-score in absolute value.
        count: Number of z-scores.
        n: Number of points.
    """
    bound = largest_by_chance(count, n)
    detail = f"the largest z-score is {number(z)}; up to {number(bound)} can be chance"
    return Check(says, z, "<=", bound, detail=detail)


def largest_by_chance(count: int, n: int) -> float:
    """Return a bound that the largest of ``count`` z-scores exceeds at most as often as one exceeds 4 (Bonferroni).

    The standard error comes from the same n points, so a score has Student's t distribution with n − 1 degrees.

    Args:
        count: Number of z-scores.
        n: Number of points, at least two.

    >>> round(largest_by_chance(1, 10**6), 2), round(largest_by_chance(100, 50), 2)
    (4.0, 5.72)
    """
    return float(-stdtrit(n - 1, ndtr(-SIGMAS) / max(count, 1)))
