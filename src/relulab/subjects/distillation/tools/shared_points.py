"""The standard error that all seeds have in common because their errors are counted on the same points."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Float64

SAMPLES = 200  # bootstrap samples; the standard error is then known to 5%


def shared_error(
    wrong: Float[np.ndarray, "seeds k points"],
    statistic: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
) -> float:
    """Estimate the standard error, over samples of points, of the mean over seeds of a statistic of the risks.

    If all seeds count errors on the same points, their results have the luck of these points in common, and the spread
    over seeds does not show it. Here the points are drawn again with replacement, the same ones for all seeds, and the
    statistic is computed for each draw (the bootstrap). Together with the spread over seeds this is an interval for new
    seeds and new points. It is slightly too wide, because the chance of single answers is in both parts.

    Args:
        wrong: Error rates of the students of each seed at each point; the risks are their means over points.
        statistic: Computes from risks, (…, seeds, k), the values of the seeds, (…, seeds).
        rng: Random generator for the draws.

    >>> wrong = np.random.default_rng(0).random((5, 1, 10_000)) < 0.5
    >>> bool(shared_error(wrong.astype(float), lambda risk: risk[..., 0], np.random.default_rng(1)) < 0.01)
    True
    """
    points = wrong.shape[-1]
    weights = rng.multinomial(points, np.full(points, 1 / points), SAMPLES) / points
    risks: Float64[np.ndarray, "samples seeds k"] = np.moveaxis(wrong @ weights.T, -1, 0)
    return float(statistic(risks).mean(-1).std(ddof=1))
