"""Statements on how well the mean dynamics describe SGD, and their controls."""

import numpy as np
import xarray as xr

from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.subjects.specialization.studies.statements import Statement, claimed


def claims_of(result: xr.Dataset) -> list[Claim]:
    """Judge the statements on the result.

    Args:
        result: The result of the study.
    """
    last = float(result.time.max())
    mean, sgd = result.sel(arm="mean"), result.sel(arm="sgd")
    drop = np.log10(mean.loss.sel(time=last)) - np.log10(mean.loss.sel(time=0))
    gain = (mean.rho.sel(time=last) - mean.rho.sel(time=0)).mean("layer", skipna=False)
    distance = result.distance.sel(arm="mean", time=last)
    statements = [
        Statement(
            "LM.T2.dynamics.direction", "Equation 6 points in the direction of the gradient",
            result.cosine.mean(("time", "layer"), skipna=False).values, within=(-1, 1),
            statistic="cosine of the angle between eq. 6 and minus the gradient, mean over hidden layers and times",
        ),
        Statement(
            "LM.T2.dynamics.loss", "Students that follow eq. 6 come closer to the outputs of the teacher",
            drop.values, "<", statistic="log₁₀ loss, change from start to end",
        ),
        Statement(
            "LM.T2.dynamics.match", "Students that follow eq. 6 come to match nodes of the teacher",
            gain.values, within=(-1, 1), statistic="mean best correlation, change from start to end, mean over layers",
        ),
        Statement(
            "LM.T2.dynamics.near", "Students that follow eq. 6 go where SGD takes them",
            distance.values, "<", 1, _compared(result, last),
            within=(0, np.inf), statistic="distance of the weights from those of SGD at the end, as a multiple of the "
            "distance that SGD went",
        ),
    ]  # fmt: skip
    return claimed(statements, ~np.isfinite(sgd.loss.sel(time=last).values))


def _compared(result: xr.Dataset, last: float) -> str:
    exact = float(result.distance.sel(arm="exact", time=last).mean())
    return f"With the exact gradient flow on the same points, this distance is {exact:.2g}."


def controls_of(result: xr.Dataset) -> list[Control]:
    """Return results on which the claims must not hold.

    Args:
        result: The result of the study.
    """
    other = result.assign({
        name: xr.where(result.arm == "mean", result[name].sel(arm="other", drop=True), result[name])
        for name in ("loss", "rho", "distance")
    })  # fmt: skip
    return [Control("eq. 6 with another teacher", ("LM.T2.dynamics.*",), other.assign(cosine=result.cosine_other))]
