"""Claims of S0 section 5.3 about students that learn the same teacher node."""

import numpy as np
import xarray as xr

from relulab.core.slope import slopes
from relulab.lab.claim import Claim, claim

ROUNDING = 1e-16  # smaller changes are rounding errors


def equal(result: xr.Dataset) -> list[Claim]:
    """Return the claims about students with the same residue; the first initial norm is used unless all are named.

    Args:
        result: The result of the study.
    """
    first = result.isel(start=0)
    ratio = first.log_norm - first.log_norm.isel(student=0)
    early, late = (abs(ratio.sel(moment=b) - ratio.sel(moment=a)).max("student") for a, b in ((0, 0.5), (0.5, 1)))
    widest = result.angle.max("student")
    falls = np.log10(widest.sel(moment=1) / widest.sel(moment=0.5)).isel(start=0)
    return [
        claim(
            "S0.T7.constant",
            "With the same residue for all, the ratios of norms tend to constants",
            np.log10(late.clip(min=ROUNDING) / early).values,
            "<",
            -1,
            statistic="log₁₀ of the largest change of the log of a ratio of norms in the second half of the time, "
            "divided by that in the first half",
        ),
        claim(
            "S0.T7.align",
            "With the same residue for all, every student turns to the teacher's weights w*",
            falls.values,
            "<",
            -1,
            note=f"The angles stop at {float(widest.sel(moment=1).isel(start=0).mean()):.2g} on average. The residue r "
            "keeps its direction and decays exponentially, so the students turn toward r(0) and stop on the way. Only "
            "Σ a_k w_k reaches w* (S0.T7.feedback).",
            statistic="log₁₀ of the largest angle with the teacher at the end, divided by that halfway",
        ),
        claim(
            "S0.T7.small-start",
            "The smaller the initial norms, the smaller the remaining angles with the teacher",
            slopes(np.log(result.start), np.log(widest.sel(moment=1))),
            ">",
            0,
            note="This weaker form of S0.T7.align is our addition.",
            statistic="slope of the log of the largest angle at the end against the log of the mean initial norm",
        ),
    ]


def broken(result: xr.Dataset, settled: float, span: float) -> list[Claim]:
    """Return the claims about students of which the first has a small advantage.

    Args:
        result: The result of the study.
        settled: Time after which the initial transition counts as over.
        span: Duration of the simulation, in units of 1/ϵ.
    """
    lead = result.lead
    later = (lead.sel(moment=1) - lead.sel(moment=0.5)).mean("extra")
    return [
        claim(
            "S0.T7.break",
            "A student that gets a small extra residue ϵ w* outgrows the others",
            (result.rate / result.extra).min("extra").values,
            ">",
            0,
            statistic="smallest growth rate of the log of the ratio of its norm to those of the others, in units of ϵ, "
            f"over a time 1/ϵ after t = {settled:g}",
        ),
        claim(
            "S0.T7.rate",
            "The larger the extra residue ϵ w* is, the faster the student outgrows the others",
            slopes(result.extra, result.rate),
            ">",
            0,
            statistic="slope of the growth rate of the log of the ratio of norms against ϵ",
        ),
        claim(
            "S0.T7.for-ever",
            "The student with the extra residue ϵ w* keeps outgrowing the others",
            later.values,
            ">",
            0,
            note="Once the first student has fitted w*, the residue of the others is r = −ϵ w*. They shrink as "
            "e^{−ϵt}, but turn away from w* equally fast. Then they grow along −w*, the first student compensates for "
            "them, and the ratio falls to a constant. There the assumption h_k > 0 of section 8.15 fails.",
            statistic="gain of the log of the ratio of its norm to those of the others from time "
            f"t = {span / 2:g}/ϵ to t = {span:g}/ϵ, mean over ϵ",
        ),
    ]
