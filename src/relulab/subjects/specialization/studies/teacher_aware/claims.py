"""Claims about SS figure 9: teacher-aware and teacher-agnostic training points."""

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim, claim
from relulab.lab.interval import interval

KINDS = ("aware", "agnostic")  # of training points
OTHER = "other"  # further teacher-agnostic points, for a control
LOW = 0.01  # largest unexplained share of the variance that counts as a low loss
THRESHOLD = f"The paper gives no number. The threshold {LOW:g} is our choice, made before the first run."


def claims(result: xr.Dataset) -> list[Claim]:
    """Return the claims, on the means over widths in every seed.

    Args:
        result: The result of the study.
    """
    result = result.sel(data=list(KINDS))
    over = result.over.values.tolist()
    widths = "mean over widths" if len(over) > 1 else f"{over[0]}× students"
    unexplained = {name: (result[name] / result[f"{name}_variance"]).mean("over", skipna=False)
                   for name in ("train", "evaluation")}  # fmt: skip
    return [
        *_lower(result, widths),
        *(_fits(unexplained["train"], kind, widths) for kind in KINDS),
        _overfits(unexplained, widths),
    ]


def _lower(result: xr.Dataset, widths: str) -> list[Claim]:
    """Claim that teacher-aware data lead to a lower evaluation loss, with few points and over all sizes."""
    points = sorted(result.points.values.tolist())
    log = np.log10(result.evaluation).mean("over", skipna=False)
    gap = log.sel(data="aware") - log.sel(data="agnostic")
    difference = "log₁₀ evaluation loss, difference teacher-aware − teacher-agnostic in the same seed"
    few = claim(
        "SS.F9.few",
        "With few points, teacher-aware data lead to a lower evaluation loss",
        gap.sel(points=points[0]).values,
        "<",
        0,
        note=_intervals(log.sel(points=points[0])),
        statistic=f"{difference}, at {points[0]:,} points, {widths}",
    )
    if len(points) == 1:
        return [few]
    return [
        few,
        claim(
            "SS.F9.sizes",
            "On average over the sample sizes, teacher-aware data lead to a lower evaluation loss",
            gap.mean("points", skipna=False).values,
            "<",
            0,
            note=_by_size(gap, points),
            statistic=f"{difference}, mean over {points[0]:,} to {points[-1]:,} points, {widths}",
        ),
        _at_each_size(gap, difference, widths),
    ]


def _at_each_size(gap: xr.DataArray, difference: str, widths: str) -> Claim:
    """Claim the same at every sample size, tested at the size where it is least true."""
    means = gap.mean("seed").sortby("points")  # a diverged student does not hide the worst size
    worst = int(means.points[int(means.argmax("points"))])
    return claim(
        "SS.F9.each-size",
        "At every sample size, teacher-aware data lead to a lower evaluation loss",
        gap.sel(points=worst).values,
        "<",
        0,
        note=f"{worst:,} points are the worst of {means.sizes['points']} sizes.",
        statistic=f"{difference}, at the sample size with the largest mean, {widths}",
    )


def _fits(unexplained: xr.DataArray, kind: str, widths: str) -> Claim:
    """Claim that students fit their training points."""
    return claim(
        f"SS.F9.train-{kind}",
        f"The training loss is low on teacher-{kind} data",
        unexplained.sel(data=kind).mean("points", skipna=False).values,
        "<",
        LOW,
        note=THRESHOLD,
        within=(0, np.inf),
        statistic="share of the outputs' variance on the training points that is left unexplained, mean over sample "
        f"sizes, {widths}",
    )


def _overfits(unexplained: dict[str, xr.DataArray], widths: str) -> Claim:
    """Claim that students of teacher-aware data do about as well on new points as on their training points."""
    least = int(unexplained["train"].points.min())
    excess = (unexplained["evaluation"] - unexplained["train"]).sel(points=least)
    left = {kind: float(unexplained["evaluation"].sel(data=kind, points=least).mean()) for kind in KINDS}
    return claim(
        "SS.F9.no-overfit",
        "With few points, students of teacher-aware data overfit less",
        (excess.sel(data="aware") - excess.sel(data="agnostic")).values,
        "<",
        0,
        note=f"On the evaluation points, {left['aware']:.1%} of the variance is left unexplained with teacher-aware "
        f"data and {left['agnostic']:.1%} with teacher-agnostic data.",
        statistic="unexplained share of the variance on evaluation points minus that on training points, difference "
        f"teacher-aware − teacher-agnostic, at {least:,} points, {widths}",
    )


def _by_size(gap: xr.DataArray, points: list[int]) -> str:
    """Name the sizes at which the whole interval of the difference is above 0, which a mean over sizes may hide."""
    mean, half = interval(gap)
    worse = [str(N) for N in points if float((mean - half).sel(points=N)) > 0]
    return f"Teacher-agnostic data lead to a lower loss at {', '.join(worse)} points." if worse else ""


def _intervals(log: xr.DataArray) -> str:
    """Describe both intervals, and whether they overlap."""
    mean, half = interval(log)
    low, high = mean - half, mean + half
    texts = [
        f"{float(mean.sel(data=kind)):.2f} [{float(low.sel(data=kind)):.2f}, {float(high.sel(data=kind)):.2f}] with "
        f"teacher-{kind} data"
        for kind in KINDS
    ]
    apart = float(low.max()) > float(high.min())
    return f"The log₁₀ evaluation loss is {' and '.join(texts)}. The intervals {'do not ' if apart else ''}overlap."
