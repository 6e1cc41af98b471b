"""What S0 section 5.3 says of students beside each other, held against their paths."""

import numpy as np
import xarray as xr

from relulab.core.slope import slopes
from relulab.lab.claim import Claim, claim

ROUNDING = 1e-16  # changes below it are none


def equal(result: xr.Dataset) -> list[Claim]:
    """Of students with one residue for all; those of the first start unless all are named.

    Args:
        result: of the study.
    """
    first = result.isel(start=0)
    ratio = first.log_norm - first.log_norm.isel(student=0)
    early, late = (abs(ratio.sel(moment=b) - ratio.sel(moment=a)).max("student") for a, b in ((0, 0.5), (0.5, 1)))
    widest = result.angle.max("student")
    falls = np.log10(widest.sel(moment=1) / widest.sel(moment=0.5)).isel(start=0)
    return [
        claim(
            "S0.T7.constant",
            "With one residue for all, ratios of norms tend to constants: log₁₀ of the largest change of "
            "ln(‖w_k‖/‖w_1‖) in the second half of the time over that in the first",
            np.log10(late.clip(min=ROUNDING) / early).values,
            "<",
            -1,
        ),
        claim(
            "S0.T7.align",
            "Every student turns to w*: log₁₀ of the largest angle with w* at the end over that half-way",
            falls.values,
            "<",
            -1,
            note=f"The angles stop at {float(widest.sel(moment=1).isel(start=0).mean()):.2g} on average. r "
            "keeps its direction and dies out exponentially, so the students turn toward r(0) and stop on the "
            "way; only Σ a_k w_k gets to w* (S0.T7.feedback).",
        ),
        claim(
            "S0.T7.small-start",
            "What is true of it: the smaller the start, the smaller the angles left; slope of log angle on log "
            "norm at the start",
            slopes(np.log(result.start), np.log(widest.sel(moment=1))),
            ">",
            0,
        ),
    ]


def broken(result: xr.Dataset, settled: float, span: float) -> list[Claim]:
    """Of students of which the first gets a little more.

    Args:
        result: of the study.
        settled: the time after which the initial transition counts as over.
        span: how long they are followed, in units of 1/ϵ.
    """
    lead = result.lead
    later = (lead.sel(moment=1) - lead.sel(moment=0.5)).mean("extra")
    return [
        claim(
            "S0.T7.break",
            f"With ϵ w* more, the first student outgrows the others: least rate of growth of ln(‖w_1‖/‖w_k‖), in "
            f"units of ϵ, for a time of 1/ϵ after t = {settled:g}",
            (result.rate / result.extra).min("extra").values,
            ">",
            0,
        ),
        claim(
            "S0.T7.rate",
            "The larger ϵ, the faster: slope of the rate of growth on ϵ",
            slopes(result.extra, result.rate),
            ">",
            0,
        ),
        claim(
            "S0.T7.for-ever",
            f"The growth goes on: gain of ln(‖w_1‖/‖w_k‖) from t = {span / 2:g}/ϵ to {span:g}/ϵ",
            later.values,
            ">",
            0,
            note="Once the first student has fitted w*, r = −ϵ w* is left for the others. They shrink as e^(−ϵt) "
            "but turn away from w* as fast; then they grow along −w*, the first student makes up for them, and the "
            "ratio falls to a constant. The assumption h_k > 0 of section 8.15 fails there.",
        ),
    ]
