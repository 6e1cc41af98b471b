"""Claims of IB figures 1 and 2: the share of aligned neurons, and the rank of the weight matrices."""

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim, claim
from relulab.subjects.bias.studies.rays.rays import ALIGNED


def aligned(id: str, says: str, direction: str, result: xr.Dataset) -> Claim:
    """The claim that most neurons have a correlation above 0.9 with a max-margin direction.

    Args:
        id: The id of the claim.
        says: The claim in words.
        direction: The direction with which each neuron is correlated, in words.
        result: The result of the study.
    """
    known = result.correlation.notnull()  # NaN after a training that diverged
    share = (result.correlation > ALIGNED).astype(float).where(known).mean("neuron", skipna=False)
    low, median = (float(result.correlation.quantile(q, "neuron").mean()) for q in (0.05, 0.5))
    supports = " and ".join(f"{float(v):.3g}" for v in result.supports.mean("seed"))
    note = (
        f"The median correlation is {median:.3f} and the 5% quantile {low:.3f}. On average, the support examples of "
        f"the two classes span {supports} dimensions."
    )
    statistic = f"share of neurons with a correlation above {ALIGNED:g} with {direction}"
    return claim(id, says, share.values, ">", 0.5, note, (0, 1), statistic)


def rank_two(id: str, result: xr.Dataset, layer: int) -> list[Claim]:
    """The claims that only two singular values have grown, and that the third is much smaller than the second.

    Args:
        id: The id of the figure.
        result: The result of the study.
        layer: The layer, from 1.
    """
    s = result.singular.sel(layer=layer)
    third, name = s.sel(rank=3), f"W_{layer}"
    growth = np.log10(third / result.start.sel(layer=layer))
    ratios = ", ".join(f"{float((s.sel(rank=k) / s.sel(rank=1)).mean()):.2g}" for k in (2, 3, 4))
    note = (
        f"On average, the singular values σ₂, σ₃ and σ₄ are {ratios} times σ₁. The paper says that all but two are "
        "effectively zero, without a number. After a start of finite size they cannot be exactly zero; this criterion "
        "was formulated after a first run."
    )
    drop = np.log10(s.sel(rank=2) / third) - np.log10(third / s.sel(rank=4))
    return [
        claim(
            f"{id}.rank-{layer}", f"{name} has rank two, apart from its initial values", growth.values, "<", 0, note,
            statistic=f"log₁₀ of the third singular value of {name} after training, divided by the largest before",
        ),
        claim(
            f"{id}.fall-{layer}", f"The singular values of {name} drop after the second", drop.values, ">", 0,
            "This claim was formulated after a first run.",
            statistic="difference log₁₀(σ₂/σ₃) − log₁₀(σ₃/σ₄) for the singular values σ_k",
        ),
    ]  # fmt: skip
