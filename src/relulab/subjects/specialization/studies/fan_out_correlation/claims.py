"""Claims about SS figure 5: fan-out and specialization."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from relulab.lab.claim import rank_correlation
from relulab.subjects.specialization.studies.statements import Statement


def small_fan_out(last: xr.Dataset, threshold: float) -> list[Statement]:
    """State that fan-out grows with specialization and is small for un-specialized students.

    Args:
        last: The result after training. Networks with more than 1× the teacher's width are used; without any, the list
            is empty.
        threshold: Correlation above which a student counts as specialized.
    """
    wide = last.sel(over=last.over > 1)
    if not wide.sizes["over"]:
        return []
    # Rounded to three digits, so that rounding errors do not rank students that follow perfectly.
    ranks = xr.apply_ufunc(
        _rank_of_present, wide.specialized.round(3), wide.fan_out, input_core_dims=[["student"], ["student"]]
    )
    specialized, unspecialized = wide.specialized > threshold, wide.specialized <= threshold
    others, typical = wide.fan_out.where(unspecialized), wide.fan_out.where(specialized)
    mean_gap = np.log10(others.mean("student")) - np.log10(typical.mean("student"))
    # Not the largest of both kinds: the largest of few students is smaller than that of many by chance alone.
    largest_gap = np.log10(others.max("student")) - np.log10(typical.median("student"))
    # A network without both kinds of students has no gap: the mean is over the other networks of the seed.
    ranks, mean_gap, largest_gap = (
        x.mean(("over", "polarity"), skipna=True).values for x in (ranks, mean_gap, largest_gap)
    )
    groups = (
        f"difference between students with a best correlation up to {threshold:g} and above {threshold:g}, "
        "over-realized networks"
    )
    return [
        Statement(
            "SS.F5.follow",
            "In over-realized networks, fan-out grows with specialization",
            ranks,
            within=(-1, 1),
            statistic="rank correlation between best correlation and fan-out, over the students of a network",
        ),
        Statement(
            "SS.F5.small",
            "Un-specialized students have small fan-out on average",
            mean_gap,
            "<",
            statistic=f"log₁₀ of the mean fan-out, {groups}",
        ),
        Statement(
            "SS.F5.corner",
            "No un-specialized student has as large a fan-out as a typical specialized one",
            largest_gap,
            "<",
            note="The paper does not say what large means. Before a control was run, the largest fan-outs of both "
            "kinds were compared; that also held for fan-outs assigned at random.",
            statistic="log₁₀ of the largest fan-out of a student with a best correlation up to "
            f"{threshold:g} minus log₁₀ of the median fan-out of the others, over-realized networks",
        ),
    ]


def polarized_harder(rho: xr.DataArray) -> list[Statement]:
    """State that students follow polarized teachers less well; empty for a single polarity.

    Args:
        rho: ρ_mean after training, along "seed", "over" and "polarity".
    """
    if rho.sizes["polarity"] == 1:
        return []
    return [
        Statement(
            "SS.F5.polarized-harder",
            "Polarized teachers are harder to reconstruct",
            rank_correlation(rho.polarity.values, rho.mean("over").transpose("seed", "polarity").values),
            "<",
            within=(-1, 1),
            statistic="rank correlation between polarity and mean best correlation",
        )
    ]


def width_helps(rho: xr.DataArray) -> list[Statement]:
    """State that polarity hurts narrow students most; empty for a single width or polarity.

    Args:
        rho: ρ_mean after training, along "seed", "over" and "polarity".
    """
    low, high = rho.over.values.min(), rho.over.values.max()
    if low == high or rho.sizes["polarity"] == 1:
        return []
    drop = rho.sel(polarity=rho.polarity.min()) - rho.sel(polarity=rho.polarity.max())
    return [
        Statement(
            "SS.F5.width-helps",
            "Polarized teachers are hardest for narrow students",
            (drop.sel(over=low) - drop.sel(over=high)).values,
            statistic="drop of the mean best correlation from the smallest to the largest polarity, difference "
            f"{low}× − {high}×",
        )
    ]


def prunable(widest: xr.Dataset, polarity: Sequence[float], kept: Sequence[int], m: int) -> list[Statement]:
    """State that students that contribute little can be pruned; empty for students of the teacher's width.

    Args:
        widest: The result of the widest students, with their width as the coordinate "over".
        polarity: Polarities of the teachers.
        kept: Numbers of nodes to which the students were pruned.
        m: The teacher's width. The number in ``kept`` nearest to 2m is used.
    """
    over, cut = int(widest.over), min(range(len(kept)), key=lambda i: abs(kept[i] - 2 * m))
    if over == 1:
        return []
    pruned = widest.isel(cut=cut)
    gap, before = (
        xr.apply_ufunc(np.log10, pruned[f"lost{when}"] / pruned[f"lost_by_chance{when}"]).mean("polarity", skipna=False)
        for when in ("", "_before")
    )
    lost = ", ".join(f"{float(pruned.lost.sel(polarity=p).median()):.1e} at polarity p = {p:g}" for p in polarity)
    return [
        Statement(
            "SS.F5.prunable",
            "After training, students that contribute little can be pruned",
            (gap - before).values,
            "<",
            note=f"Pruning does not use the teacher. The median share of variance lost is {lost}. Before training, "
            f"pruning by contribution changes the log₁₀ share by {float(before.mean()):.2g} on average.",
            statistic=f"log₁₀ share of held-out variance lost when {over}× students are pruned to {kept[cut]} nodes "
            "and the top weights are refitted, difference pruned by contribution − pruned at random, minus the same "
            "difference before training",
        )
    ]


def _rank_of_present(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rank correlation over the students of each network, without the NaN that pads narrow networks."""
    rows = zip(_rows(a), _rows(b), strict=True)
    return np.reshape([rank_correlation(x[~np.isnan(x)], y[~np.isnan(x)]) for x, y in rows], a.shape[:-1])


def _rows(a: np.ndarray) -> np.ndarray:
    return a.reshape(-1, a.shape[-1])
