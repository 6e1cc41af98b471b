"""What is claimed of students at zero gradient."""

import math

import numpy as np
import xarray as xr

from relulab.core.slope import power
from relulab.lab.claim import Claim, claim

NEAR = 0.05  # alignment up to which nodes are merged before some are dropped, and count as specialized
FITTED = 1e-6  # root of the summed squares of what is left: a student without active nodes has no gradient either
NOTHING = 1e-18  # shares of the variance below count as this: rounding
SPARE = 1.2  # of the teacher's width, that a wide student is cut down to


def fitted(result: xr.Dataset, tolerance: float) -> xr.Dataset:
    """NaN for students that did not get to zero gradient, or by being inactive: of them nothing is claimed.

    Args:
        result: of the study.
        tolerance: the largest gradient that counts as zero.
    """
    return result.where((result.gradient < tolerance) & (result.residual < FITTED))


def slope(epsilon: xr.DataArray) -> Claim:
    """The alignment error of the worst node falls with the number of points.

    Args:
        epsilon: alignment errors along "seed", "points" and "node".
    """
    errors = epsilon.max("node", skipna=False).transpose("seed", "points")
    strongest = (epsilon.fillna(-1).argmax("node") == 0).mean().item()
    return claim(
        "SS.X1.slope",
        "The alignment error of the worst teacher node falls with the number of points: slope of log ε on log N",
        np.array([power(errors.points.values, one) for one in errors.values]),
        "<",
        0,
        note="A study of ours. Theorem 3 asks for N ~ 1/ε points, which is a slope of −1. The worst node is "
        f"the first, the strongest, in {strongest:.0%} of the students.",
    )


def spare(shares: xr.DataArray) -> Claim:
    """Students that found no teacher node add less the more points there are.

    Args:
        shares: of the variance that they add, along "seed" and "points".
    """
    least, most = int(shares.points.min()), int(shares.points.max())
    few, many = (shares.sel(points=N) for N in (least, most))
    return claim(
        "SS.X1.spare",
        "Un-specialized students add less the more points there are: log₁₀ share of the held-out variance that "
        f"students farther than {NEAR:g} from every teacher node add together, at {most:,} points "
        f"less at {least:,}",
        np.log10(many.clip(min=NOTHING).values) - np.log10(few.clip(min=NOTHING).values),
        "<",
        0,
        note=f"A study of ours, worded after the first runs. Theorem 2 has 0 for infinite data. Shares below "
        f"{NOTHING:g} count as that: at {most:,} points {int((many < NOTHING).sum())} of "
        f"{many.size} students.",
    )


def cut(lost: xr.DataArray, m: int) -> Claim:
    """Wide students can be cut down to little more than the teacher's width.

    Args:
        lost: share of the variance along "seed" and "kept", with the students' width as the coordinate "over".
        m: the teacher's width.
    """
    kept = math.ceil(SPARE * m)
    return claim(
        "SS.X1.cut",
        f"{int(lost.over)}× students cut down to {kept} nodes explain 99 % of the held-out "
        "variance: share that is lost",
        lost.sel(kept=kept).values,
        "<",
        0.01,
        note="A study of ours; the lines, 99 % and a fifth more than the teacher's width, were drawn before "
        "the first run.",
        within=(0, math.inf),
    )
