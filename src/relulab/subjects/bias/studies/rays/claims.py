"""Claims of IB figures 1 and 2: how many neurons are aligned, and that no third direction grew."""

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim, claim
from relulab.subjects.bias.studies.rays.rays import ALIGNED


def aligned(id: str, words: str, result: xr.Dataset) -> Claim:
    """Most neurons have a correlation above 0.9."""
    share = (result.correlation > ALIGNED).mean("neuron")
    least, middle = (float(result.correlation.quantile(q, "neuron").mean()) for q in (0.05, 0.5))
    supports = " and ".join(f"{float(v):.3g}" for v in result.supports.mean("seed"))
    note = (
        f"The median correlation is {middle:.3f}, that of the lowest twentieth {least:.3f}. The support examples of "
        f"either class span {supports} dimensions on average."
    )
    return claim(id, f"{words}: share of neurons", share.values, ">", 0.5, note, (0, 1))


def rank_two(id: str, result: xr.Dataset, layer: int) -> list[Claim]:
    """All singular values beyond the second are what is left of the start, and the fall is after the second."""
    s = result.singular.sel(layer=layer)
    third, name = s.sel(rank=3), f"W_{layer}"
    grown = np.log10(third / result.start.sel(layer=layer))
    ratios = "/".join(f"{float((s.sel(rank=k) / s.sel(rank=1)).mean()):.2g}" for k in (2, 3, 4))
    note = (
        f"σ₂, σ₃ and σ₄ are {ratios} of σ₁ on average. The text says that all but two are effectively zero, without a "
        "number: what that can mean after a start of finite size was worded after first trials."
    )
    fall = np.log10(s.sel(rank=2) / third) - np.log10(third / s.sel(rank=4))
    return [
        claim(
            f"{id}.rank-{layer}",
            f"{name} is of rank two but for its start: log₁₀ of its third singular value over the largest before "
            "training",
            grown.values, "<", 0, note,
        ),
        claim(
            f"{id}.fall-{layer}",
            f"The singular values of {name} fall after the second: log₁₀ σ₂/σ₃ less log₁₀ σ₃/σ₄", fall.values, ">", 0,
            "Worded after first trials.",
        ),
    ]  # fmt: skip
