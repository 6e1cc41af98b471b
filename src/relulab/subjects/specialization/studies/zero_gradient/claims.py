"""Claims about students at zero gradient."""

import math

import numpy as np
import xarray as xr

from relulab.core.slope import power
from relulab.lab.claim import Claim, claim

NEAR = 0.05  # nodes with an alignment error up to this are merged before pruning, and count as specialized
FITTED = 1e-6  # largest norm of the residuals of a fit: a student without active nodes has zero gradient too
NOTHING = 1e-18  # smaller shares of the variance are rounding errors
SPARE = 1.2  # wide students are pruned to this multiple of the teacher's width
OURS = "This study is our addition; the paper has no such experiment."


def fitted(result: xr.Dataset, tolerance: float) -> xr.Dataset:
    """Set students to NaN that did not reach zero gradient, or reached it without fitting the teacher.

    Args:
        result: The result of the study.
        tolerance: Largest gradient that counts as zero.
    """
    return result.where((result.gradient < tolerance) & (result.residual < FITTED))


def slope(epsilon: xr.DataArray) -> Claim:
    """Claim that the alignment error of the worst node falls with the number of points.

    Args:
        epsilon: Alignment errors along "seed", "points" and "node".
    """
    errors = epsilon.max("node", skipna=False).transpose("seed", "points")
    strongest = (epsilon.fillna(-1).argmax("node") == 0).mean().item()
    return claim(
        "SS.X1.slope",
        "The alignment error of the worst teacher node falls with the number of points",
        np.array([power(errors.points.values, of_seed) for of_seed in errors.values]),
        "<",
        0,
        note=f"{OURS} Theorem 3 of SS requires N ~ 1/ε points, which is a slope of −1. The worst node is the strongest "
        f"one in {strongest:.0%} of the students.",
        statistic="slope of the log of the alignment error against the log of the number of points",
    )


def spare(shares: xr.DataArray) -> Claim:
    """Claim that un-specialized students contribute less with more points.

    Args:
        shares: Shares of the variance that they contribute, along "seed" and "points".
    """
    least, most = int(shares.points.min()), int(shares.points.max())
    few, many = (shares.sel(points=N) for N in (least, most))
    return claim(
        "SS.X1.spare",
        "Un-specialized students contribute less with more points",
        np.log10(many.clip(min=NOTHING).values) - np.log10(few.clip(min=NOTHING).values),
        "<",
        0,
        note=f"{OURS} This claim was formulated after a first run. Theorem 2 of SS gives 0 for infinite data. Shares "
        f"below {NOTHING:g} are set to {NOTHING:g}; at {most:,} points these are {int((many < NOTHING).sum())} of "
        f"{many.size} students.",
        statistic="log₁₀ share of the held-out variance contributed by all student nodes farther than "
        f"{NEAR:g} from every teacher node, difference {most:,} points − {least:,} points",
    )


def cut(lost: xr.DataArray, m: int) -> Claim:
    """Claim that wide students can be pruned to little more than the teacher's width.

    Args:
        lost: Shares of the variance lost, along "seed" and "kept", with the students' width as the coordinate "over".
        m: The teacher's width.
    """
    kept = math.ceil(SPARE * m)
    return claim(
        "SS.X1.cut",
        f"{int(lost.over)}× students pruned to {kept} nodes still explain 99% of the variance",
        lost.sel(kept=kept).values,
        "<",
        0.01,
        note=f"{OURS} The thresholds, 99% and {SPARE:g} times the teacher's width, were chosen before the first run.",
        within=(0, math.inf),
        statistic="share of the held-out variance lost by pruning",
    )
