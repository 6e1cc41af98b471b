"""Claims on the transfer risk bound: it holds, and the risk falls at least as fast as the bound."""

import math
from collections.abc import Sequence

import numpy as np
import xarray as xr

from relulab.core.slope import power
from relulab.lab.claim import Claim, claim

COMPARABLE = 1e-9  # smaller risks are rare events or rounding, so no ratio to the bound is computed


def bound_claims(result: xr.Dataset, bounds: xr.Dataset, d: int) -> list[Claim]:
    """The claims that the bound holds on random tasks and for every n < d, and that there is no risk at n = d.

    Args:
        result: The result of the study.
        bounds: The bounds, with dimensions law and n.
        d: Number of input dimensions.
    """
    below = result.n < d
    mean = result.risk.mean("seed")
    ratio = (bounds.theorem / mean).where(below & (mean > COMPARABLE))
    holds_on_task = result.task_bound >= result.task_low
    closest = float((result.task_bound / result.task_risk).where(result.task_risk > COMPARABLE).min())
    largest = (result.risk / bounds.theorem).where(below, drop=True).max(("law", "n"))
    return [
        claim("T5.T3.n.tasks", "The bound holds on random tasks", holds_on_task.mean("task").values, ">", 0.99,
              f"{int(holds_on_task.size):,} tasks. The bound is at least {closest:.3g} times the risk (for risks above "
              f"{COMPARABLE:g}).", (0, 1),
              "share of tasks whose bound is not below the lower confidence limit of the measured risk",
              holds_on_task.sizes["task"]),
        claim("T5.T3.n.curves", "The bound holds for every number of points n below the number of dimensions d",
              largest.values, "<", 1,
              f"The bound is {float(ratio.min()):.3g} to {float(ratio.max()):.2g} times the risk (for risks above "
              f"{COMPARABLE:g}).", (0, math.inf),
              "largest ratio of the mean risk to the bound, over the angle distributions and all n < d"),
        claim("T5.T3.n.perfect", "With as many points as dimensions, the student equals the teacher",
              result.left.max("law").values, "<", 1e-6, "The transfer risk is then zero. This claim was formulated "
              "after a first run, in which the rounding of an angle appeared as a risk of 1e-9.", (0, math.inf),
              "largest distance of student and teacher, relative to the teacher, over the angle distributions, with as "
              "many points as dimensions", check=True),
    ]  # fmt: skip


def rate_claims(risk: xr.DataArray, kappas: Sequence[float], d: int) -> list[Claim]:
    """One claim per κ on the slope of the risk; none if fewer than two numbers of points lie between 5 and d/2.

    Args:
        risk: The mean risks, with dimensions law, n and seed.
        kappas: Degrees κ of the angle distributions.
        d: Number of input dimensions.
    """
    fitted = risk.where((risk.n >= 5) & (risk.n <= d / 2), drop=True)
    if fitted.sizes["n"] < 2:
        return []
    claims = []
    for kappa in kappas:
        values = fitted.sel(law=f"κ = {kappa:g}").transpose("n", "seed")
        slopes = power((values.n / np.log(values.n)).values, values.values)
        claims.append(
            claim(f"T5.C2.rate-{kappa:g}", f"For degree κ = {kappa:g}, the risk falls at least as fast as (log n/n)^κ",
                  slopes, "<", -kappa, "Corollary 5.2 only bounds the risk. It does not claim that the risk itself "
                  "falls at this rate.",
                  statistic="slope of log risk against log(n/log n), over numbers of points n from 5 to d/2")
        )  # fmt: skip
    return claims
