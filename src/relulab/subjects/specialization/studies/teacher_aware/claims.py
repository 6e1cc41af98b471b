"""What SS figure 9 says, held against the measured losses."""

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim, claim, half_width

KINDS = ("aware", "agnostic")  # of training points, in the order of lanes
LOW = 0.01  # share of the variance that a low loss leaves unexplained
OURS = "The paper gives no number; the line is ours, drawn before the first run."


def claims(result: xr.Dataset) -> list[Claim]:
    """What SS says of the figure, by the means over widths of every seed.

    Args:
        result: of the study.
    """
    over = result.over.values.tolist()
    widths = "mean over widths" if len(over) > 1 else f"{over[0]}× students"
    share = {name: (result[name] / result[f"{name}_variance"]).mean("over", skipna=False)
             for name in ("train", "evaluation")}  # fmt: skip
    return [*_lower(result, widths), *(_fits(share["train"], kind, widths) for kind in KINDS), _overfits(share, widths)]


def _lower(result: xr.Dataset, widths: str) -> list[Claim]:
    """Teacher-aware data give the lower evaluation loss, with few samples and over all sizes."""
    points = sorted(result.points.values.tolist())
    log = np.log10(result.evaluation).mean("over", skipna=False)
    gap = log.sel(data="aware") - log.sel(data="agnostic")
    return [
        claim(
            "SS.F9.few",
            "With few samples teacher-aware data give a lower evaluation loss: log₁₀ loss of teacher-aware less "
            f"of teacher-agnostic students of the same seed at {points[0]} points, {widths}",
            gap.sel(points=points[0]).values,
            "<",
            0,
            note=_intervals(log.sel(points=points[0])),
        ),
        claim(
            "SS.F9.sizes",
            f"So it is over all sample sizes: the same difference, mean over {points[0]} to "
            f"{points[-1]} points, {widths}",
            gap.mean("points", skipna=False).values,
            "<",
            0,
            note=_by_size(gap, points),
        ),
    ]


def _fits(share: xr.DataArray, kind: str, widths: str) -> Claim:
    """Students of a kind of data fit it."""
    return claim(
        f"SS.F9.train-{kind}",
        f"Training loss is low on teacher-{kind} data: share of the outputs' variance on the training "
        f"points that is left unexplained, mean over sizes, {widths}",
        share.sel(data=kind).mean("points", skipna=False).values,
        "<",
        LOW,
        note=OURS,
        within=(0, np.inf),
    )


def _overfits(share: dict[str, xr.DataArray], widths: str) -> Claim:
    """Teacher-aware students do about as well beside their points as on them."""
    least = int(share["train"].points.min())
    over_fit = (share["evaluation"] - share["train"]).sel(points=least)
    left = {kind: float(share["evaluation"].sel(data=kind, points=least).mean()) for kind in KINDS}
    return claim(
        "SS.F9.no-overfit",
        "Teacher-aware students overfit less with few samples: share of the variance left unexplained on "
        f"evaluation points less on training points, aware less agnostic, at {least} points, {widths}",
        (over_fit.sel(data="aware") - over_fit.sel(data="agnostic")).values,
        "<",
        0,
        note=f"On evaluation points {left['aware']:.1%} of the variance is left teacher-aware, "
        f"{left['agnostic']:.1%} agnostic.",
    )


def _by_size(gap: xr.DataArray, points: list[int]) -> str:
    """Where the whole interval of the difference lies above 0, for a mean over sizes may hide it."""
    mean, half = interval(gap)
    worse = [str(N) for N in points if float((mean - half).sel(points=N)) > 0]
    return f"Teacher-agnostic students have the lower loss at {', '.join(worse)} points." if worse else ""


def interval(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Mean over seeds and half the width of its 95 % Student interval.

    Args:
        values: with the dimension "seed".
    """
    n = values.sizes["seed"]
    mean = values.mean("seed", skipna=False)
    return mean, values.std("seed", ddof=1, skipna=False) * half_width(n) if n > 1 else mean * np.nan


def _intervals(log: xr.DataArray) -> str:
    """Both intervals in words, and whether they overlap."""
    mean, half = interval(log)
    low, high = mean - half, mean + half
    said = [f"{float(mean.sel(data=k)):.2f} [{float(low.sel(data=k)):.2f}, {float(high.sel(data=k)):.2f}] teacher-{k}"
            for k in KINDS]  # fmt: skip
    apart = float(low.max()) > float(high.min())
    return f"log₁₀ evaluation loss is {' and '.join(said)}: the intervals {'do not ' if apart else ''}overlap."
