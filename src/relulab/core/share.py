"""Shares, such as the share of points at which two networks agree, with exact confidence intervals."""

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from relulab.core.errors import UserError


class Estimate(NamedTuple):
    """A number with a confidence interval."""

    value: float
    low: float
    high: float


def clopper_pearson(
    count: np.ndarray | float, total: int, *, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Clopper–Pearson interval of a share: it covers the true share with at least the given confidence.

    Args:
        count: Number of cases, from 0 to ``total``.
        total: Number of independent trials.
        confidence: Confidence of the interval, between 0 and 1.

    >>> low, high = clopper_pearson(9, 10)
    >>> round(float(low), 4), round(float(high), 4)
    (0.555, 0.9975)
    """
    if not 0 < confidence < 1:
        raise UserError(f"expected confidence between 0 and 1, such as 0.95, got {confidence}")
    k, tail = np.asarray(count, dtype=float), (1 - confidence) / 2
    low = np.where(k > 0, betaincinv(np.where(k > 0, k, 1.0), total - k + 1, tail), 0.0)
    high = np.where(k < total, betaincinv(k + 1, np.where(k < total, total - k, 1.0), 1 - tail), 1.0)
    return low, high


def share(count: int, total: int) -> Estimate:
    """Return a share with its exact 95% interval.

    Args:
        count: Number of cases.
        total: Number of independent trials, at least 1.

    >>> percents(share(998, 1000))
    '99.80% [99.28%, 99.976%]'
    """
    low, high = clopper_pearson(count, total)
    return Estimate(count / total, float(low), float(high))


def percent(x: float) -> str:
    """Format a share as a percentage, with more digits near 0% and 100%.

    Args:
        x: The share, from 0 to 1.

    >>> percent(0.5), percent(0.9984), percent(0.99998), percent(1.0), percent(3e-9)
    ('50%', '99.84%', '99.9980%', '100%', '3e-07%')
    """
    rest = min(x, 1 - x)
    if rest <= 0:
        return f"{100 * x:g}%"
    if x < 1e-4:
        return f"{100 * x:.2g}%"
    digits = max(0, min(4, int(np.ceil(-np.log10(rest))) - 1))
    return f"{100 * x:.{digits}f}%"


def percents(estimate: Estimate) -> str:
    """Format a share and its interval as percentages.

    Args:
        estimate: The share.
    """
    return f"{percent(estimate.value)} [{percent(estimate.low)}, {percent(estimate.high)}]"
