"""What SS figure 5 says of fan-out and specialization."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from relulab.lab.claim import rank_correlation
from relulab.subjects.specialization.studies.statements import Statement


def small_fan_out(last: xr.Dataset, threshold: float) -> list[Statement]:
    """Fan-out grows with specialization, and un-specialized students have a small one.

    Args:
        last: the result after training.
        threshold: the correlation above which a student is specialized.
    """
    wide = last.sel(over=last.over > 1)
    # To three digits: among students that follow perfectly, rounding should not make an order.
    rank = xr.apply_ufunc(
        _rank_of_present, wide.specialized.round(3), wide.fan_out, input_core_dims=[["student"], ["student"]]
    )
    follows, strays = wide.specialized > threshold, wide.specialized <= threshold
    mean, top = (
        np.log10(getattr(wide.fan_out.where(strays), kind)("student"))
        - np.log10(getattr(wide.fan_out.where(follows), kind)("student"))
        for kind in ("mean", "max")
    )
    un = f"students below ρ = {threshold:g}"
    # A network whose students all follow, or none of them, has nothing to compare: the others of the seed speak.
    rank, mean, top = (x.mean(("over", "polarity"), skipna=True).values for x in (rank, mean, top))
    return [
        Statement(
            "SS.F5.follow",
            "In over-realized networks fan-out grows with specialization: rank correlation of best correlation and "
            "‖v_k‖ over the students of a network",
            rank,
            within=(-1, 1),
        ),
        Statement(
            "SS.F5.small",
            f"Un-specialized students have small fan-out: log₁₀ mean ‖v_k‖ of {un} less of those above, "
            "over-realized networks",
            mean,
            "<",
        ),
        Statement(
            "SS.F5.corner",
            f"No un-specialized student has a large one: log₁₀ largest ‖v_k‖ of {un} less of those above, "
            "over-realized networks",
            top,
            "<",
        ),
    ]


def polarized_harder(rho: xr.DataArray) -> Statement:
    """Students of polarized teachers follow them less well.

    Args:
        rho: ρ_mean after training, along "seed", "over" and "polarity".
    """
    return Statement(
        "SS.F5.polarized-harder",
        "Higher p makes reconstruction harder: rank correlation of p with ρ_mean",
        rank_correlation(rho.polarity.values, rho.mean("over").transpose("seed", "polarity").values),
        "<",
        within=(-1, 1),
    )


def width_helps(rho: xr.DataArray) -> Statement:
    """Wide students lose less by polarity than narrow ones.

    Args:
        rho: ρ_mean after training, along "seed", "over" and "polarity".
    """
    low, high = rho.over.values.min(), rho.over.values.max()
    drop = rho.sel(polarity=rho.polarity.min()) - rho.sel(polarity=rho.polarity.max())
    drop = drop.where(low < high and rho.sizes["polarity"] > 1)
    return Statement(
        "SS.F5.width-helps",
        "Polarity hurts narrow students most: fall of ρ_mean from the smallest to the largest p at "
        f"{low}× less at {high}×",
        (drop.sel(over=low) - drop.sel(over=high)).values,
    )


def prunable(here: xr.Dataset, polarity: Sequence[float], kept: Sequence[int], m: int) -> Statement:
    """Students that add little matter less than others.

    Args:
        here: the result of the widest students, the coordinate "over".
        polarity: of the teachers.
        kept: numbers of nodes that they were cut down to.
        m: the teacher's width; the cut nearest to twice of it is looked at.
    """
    wide, at = int(here.over), min(range(len(kept)), key=lambda i: abs(kept[i] - 2 * m))
    here = here.isel(cut=at)
    gap = (np.log10(here.lost) - np.log10(here.lost_by_chance)).mean("polarity", skipna=False)
    lost = ", ".join(f"{float(here.lost.sel(polarity=p).median()):.1e} at p = {p:g}" for p in polarity)
    return Statement(
        "SS.F5.prunable",
        f"Students that add little matter less: log₁₀ share of the held-out variance lost when {wide}× students "
        f"are cut to {kept[at]} nodes by what they add, top weights refit, less the same by chance",
        gap.where(wide > 1).values,
        "<",
        note=f"No teacher is used. Lost is {lost} (medians).",
    )


def _rank_of_present(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rank correlation over the students that a network has: narrower ones are padded with NaN."""
    flat = [rank_correlation(x[~np.isnan(x)], y[~np.isnan(x)]) for x, y in zip(*(_rows(a), _rows(b)), strict=True)]
    return np.reshape(flat, a.shape[:-1])


def _rows(a: np.ndarray) -> np.ndarray:
    return a.reshape(-1, a.shape[-1])
