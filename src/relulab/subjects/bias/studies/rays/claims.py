"""Claims of IB figures 1 and 2: the share of aligned neurons, and the rank of the weight matrices."""

import xarray as xr

from relulab.lab.claim import Claim, claim
from relulab.subjects.bias.studies.rays.rays import ALIGNED

GROWN = 2.0  # a singular value above this multiple of the largest one of the start has grown
MUCH = 0.5  # a singular value below this share of another one is much smaller


def aligned(id: str, says: str, direction: str, result: xr.Dataset) -> Claim:
    """The claim that most neurons have a correlation above 0.9 with a max-margin direction.

    Args:
        id: The id of the claim.
        says: The claim in words.
        direction: The direction with which each neuron is correlated, in words.
        result: The result of the study.
    """
    correlation = result.correlation.sel(when="end")
    share = _share(correlation)
    low, median = (float(correlation.quantile(q, "neuron", skipna=False).mean()) for q in (0.05, 0.5))
    with_mean = float(_share(result.with_mean.sel(when="end")).mean())
    supports = " and ".join(f"{float(v):.3g}" for v in result.supports.mean("seed"))
    note = (
        f"The median correlation is {median:.3f} and the 5% quantile {low:.3f}. On average, the support examples of "
        f"the two classes span {supports} dimensions. {with_mean:.0%} of the neurons "
        f"have a correlation above {ALIGNED:g} with the mean of their class, too, so that this claim does not "
        "tell the two directions apart; the next one does."
    )
    statistic = f"share of neurons with a correlation above {ALIGNED:g} with {direction}"
    return claim(id, says, share.values, ">", 0.5, note, (0, 1), statistic, trials=correlation.sizes["neuron"])


def beyond_means(id: str, result: xr.Dataset) -> Claim:
    """The claim that neurons have left the means of the classes, toward which they turn first.

    Args:
        id: The id of the claim.
        result: The result of the study.
    """
    end = result.sel(when="end")
    means = float(_share(end.with_mean).mean())
    note = (
        f"This claim is ours. {means:.0%} of the neurons have a correlation above {ALIGNED:g} with the mean of their "
        "class. The two directions are close to each other on these data, so a correlation above 0.9 alone does not "
        "show that training finds the max-margin direction; gradient flow to much smaller losses does "
        "(study max-margin-limit)."
    )
    gain = (end.correlation - end.with_mean).mean("neuron", skipna=False)
    return claim(
        id, "Neurons are closer to the max-margin direction than to the mean of their class", gain.values, ">", 0, note,
        (-2, 2), "correlation of a neuron with its max-margin direction minus that with the mean of its class, mean "
        "over neurons",
    )  # fmt: skip


def _share(correlation: xr.DataArray) -> xr.DataArray:
    """The share of neurons with a correlation above 0.9, by seed; NaN after a training that diverged."""
    return (correlation > ALIGNED).astype(float).where(correlation.notnull()).mean("neuron", skipna=False)


def rank_two(id: str, result: xr.Dataset, layer: int) -> list[Claim]:
    """The claims that exactly two singular values have grown, and that all others are much smaller than these.

    Args:
        id: The id of the figure.
        result: The result of the study.
        layer: The layer, from 1.
    """
    start, s = (result.singular.sel(when=when, layer=layer) for when in ("start", "end"))
    largest, name = start.max("rank", skipna=False), f"W_{layer}"
    two = (s > GROWN * largest).sum("rank") == 2
    two = two.astype(float).where(s.notnull().all("rank"))
    growth = ", ".join(f"{float((s.sel(rank=k) / largest).mean()):.2f}" for k in (1, 2, 3))
    ratios = ", ".join(f"{float((s.sel(rank=k) / s.sel(rank=1)).mean()):.2g}" for k in (2, 3, 4))
    note = (
        f"On average, σ₁, σ₂ and σ₃ are {growth} times the largest singular value before training. The factor "
        f"{GROWN:g} is ours and was chosen after a first run."
    )
    return [
        claim(
            f"{id}.rank-{layer}", f"Exactly two singular values of {name} grow in training", two.values, ">", 0.5, note,
            (0, 1), f"share of networks in which exactly two singular values of {name} are more than {GROWN:g} times "
            "as large as the largest one before training", trials=1,
        ),
        claim(
            f"{id}.fall-{layer}", f"All other singular values of {name} are much smaller than the second",
            (s.sel(rank=3) / s.sel(rank=2)).values, "<", MUCH,
            f"On average, σ₂, σ₃ and σ₄ are {ratios} times σ₁. The paper says that all but two are effectively zero, "
            "without a number. After a start of finite size they cannot be exactly zero. The bound of one half was "
            "chosen after a first run.", (0, 1), f"third singular value of {name} divided by the second, σ₃/σ₂",
        ),
    ]  # fmt: skip
