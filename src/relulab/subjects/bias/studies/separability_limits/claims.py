"""Claims on the limits of the bias toward max-margin directions, and their controls. All of them are ours."""

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim, claim, rank_correlation
from relulab.lab.control import Control
from relulab.subjects.bias.tools.untrained import untrained

ALL, HALF = 0.99, 0.5  # "all" and "most" live neurons, as shares
SLIGHT = 0.2  # a violation by a cosine of at most this is called slight
KEPT = 0.9  # the cosine above which the paper calls a neuron aligned
STATISTIC = "share of live neurons with a cosine of at least 0.99 with their max-margin direction, {}"
BROKEN = ("shift", "stray")


def sweep_of(result: xr.Dataset, sweep: str) -> xr.Dataset:
    """The levels of one sweep, in ascending order.

    Args:
        result: The result of the study.
        sweep: ``start``, ``shift`` or ``stray``.
    """
    return result.sel(sweep=sweep).dropna("level", how="all", subset=["broken"]).sortby("level")


def claims(result: xr.Dataset) -> list[Claim]:
    """All claims of the study.

    Args:
        result: The result of the study.
    """
    start, shift, stray = (sweep_of(result, sweep) for sweep in ("start", "shift", "stray"))
    return [
        _end("small-start", "From the smallest start, all live neurons find their max-margin direction", start, 0),
        _end("large-start", "From the largest start, most live neurons do not find it", start, -1),
        _slight(shift),
        _end("large-shift", "Many violated pairs turn most live neurons away from the max-margin direction", shift, -1),
        _end("one-point", "One point among the other class turns most live neurons away as well", stray, -1),
        _predicts(result),
    ]


def _end(id: str, says: str, sweep: xr.Dataset, index: int) -> Claim:
    """A claim on one end of a sweep: on all live neurons at its first level, on less than half at its last one."""
    at, word = sweep.isel(level=index), {"start": "a start of size", "shift": "a shift of", "stray": "an angle of"}
    end, name = at.sel(when="end"), str(sweep.sweep.values)
    where = f"at {word[name]} {float(at.level):g}" + " degrees" * (name == "stray")
    note = f"The least cosine of a live neuron is {float(end['least'].min()):.3f} over all seeds.{_distance(at)}"
    relation, bound = ("<", HALF) if index else (">", ALL)
    return claim(f"IB.X1.{id}", says, end.share.values, relation, bound, note, (0, 1), STATISTIC.format(where),
                 trials=_fewest(end.live.values))  # fmt: skip


def _fewest(live: np.ndarray) -> int:
    """The fewest live neurons of a seed: shares that are equal in all seeds prove no more than so many cases can."""
    return max(int(np.nanmin(live, initial=np.inf)), 1) if np.isfinite(live).any() else 1


def _distance(at: xr.Dataset) -> str:
    if not float(at.broken.max()):
        return ""
    return (
        f" On average, {float(at.broken.mean()):.1%} of all pairs are broken, the largest cosine with the wrong sign "
        f"is {float(at.wrong.mean()):.2f}, and −log ℓ at the end is {float(-at.log_loss.mean()):.3g}."
    )


def _slight(shift: xr.Dataset) -> Claim:
    """The claim on the largest shift of every seed that violates separability slightly; NaN if there is none."""
    slight = ((shift.wrong > 0) & (shift.wrong <= SLIGHT)).transpose("seed", "level").values
    last = slight.shape[1] - 1 - slight[:, ::-1].argmax(1)
    rows, known = np.arange(len(last)), slight.any(1)
    end = shift.sel(when="end")
    share, live, broken = (v.transpose("seed", "level").values for v in (end.share, end.live, shift.broken))
    values = np.where(known, share[rows, last], np.nan)
    mean = f"{broken[rows, last][known].mean():.1%}" if known.any() else "no share"
    note = f"On average, {mean} of all pairs are broken at these shifts. The bound {SLIGHT:g} was chosen after a trial."
    where = f"at the largest shift at which cosines have the wrong sign, but by no more than {SLIGHT:g}"
    says = "A slight violation of orthogonal separability changes nothing"
    return claim("IB.X1.small-shift", says, values, ">", ALL, note, (0, 1), STATISTIC.format(where),
                 trials=_fewest(live[rows, last]))  # fmt: skip


def measured(result: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Share of broken pairs, largest cosine with the wrong sign, and least cosine of a live neuron after training.

    Args:
        result: The result of the study.

    Returns:
        Three arrays, (seed, network), over the networks of both sweeps of data in which pairs are broken.
    """
    parts = [sweep_of(result, sweep).transpose("seed", "level", ...) for sweep in BROKEN]
    columns = ([p.broken for p in parts], [p.wrong for p in parts], [p["least"].sel(when="end") for p in parts])
    broken, wrong, least = (np.concatenate([c.transpose("seed", "level").values for c in col], 1) for col in columns)
    return broken, wrong, least


def _predicts(result: xr.Dataset) -> Claim:
    broken, wrong, least = measured(result)
    by_cosine, by_share = -rank_correlation(wrong, least), -rank_correlation(broken, least)
    lost = least < KEPT
    first = f"{wrong[lost].min():.2f}" if lost.any() else "no value"
    last = f"{wrong[~lost].max():.2f}" if (~lost).any() else "no value"
    few, many = (f"{broken[rows].min() if rows is lost else broken[rows].max():.1%}" if rows.any() else "no value"
                 for rows in (lost, ~lost))  # fmt: skip
    note = (
        f"The rank correlation is {-by_cosine.mean():.2f} for the largest cosine and {-by_share.mean():.2f} for the "
        f"share of pairs. All live neurons keep a cosine of {KEPT:g} in some networks with wrong cosines of up to "
        f"{last}, and some neuron loses it from {first} on. In shares of broken pairs, the two numbers are {many} and "
        f"{few}."
    )
    return claim(
        "IB.X1.size-not-number", "The size of the worst violation matters more than the number of broken pairs",
        by_cosine - by_share, ">", 0, note, (-2, 2),
        "how much more the least cosine of a live neuron falls with the largest cosine with the wrong sign than with "
        "the share of broken pairs: difference of the two rank correlations over all shifts and angles",
    )  # fmt: skip


def controls(result: xr.Dataset) -> list[Control]:
    """Results on which the claims must not hold: the other end of each sweep, and networks before training.

    Args:
        result: The result of the study.
    """
    opposite = reversed_levels(result)
    small, large = ("IB.X1.small-start", "IB.X1.small-shift"), ("IB.X1.large-start", "IB.X1.large-shift")
    return [
        Control("the networks at the other end of the sweep", (*small, *large, "IB.X1.one-point"), opposite),
        Control("the networks before training", ("IB.X1.size-not-number",), untrained(result)),
    ]


def reversed_levels(result: xr.Dataset) -> xr.Dataset:
    """The result with the networks of every sweep in reversed order: those of the largest level come first.

    Args:
        result: The result of the study.
    """
    swapped = result.copy(deep=True)
    for sweep in result.sweep.values:
        levels = sweep_of(result, sweep).level.values
        for name in ("share", "least", "live"):
            found = result[name].sel(sweep=sweep, level=levels[::-1])
            swapped[name].loc[{"sweep": sweep, "level": levels}] = found.transpose(*found.dims).values
    return swapped
