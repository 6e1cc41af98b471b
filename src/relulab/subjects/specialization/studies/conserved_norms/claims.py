"""Claims about the drift of norms before BatchNorm, and their controls."""

import numpy as np
import xarray as xr

from relulab.core.slope import power
from relulab.lab.claim import Claim, claim
from relulab.lab.control import Control

FIRST_ORDER = 0.1  # largest distance of a log-log slope from 1
REMAINS = 0.1  # a drift remains if at least this share of it is left in the limit of small steps
EXACT = 1e-6
PLACES = {"before": "before the ReLU", "after": "after the ReLU"}


def slopes(result: xr.Dataset, arm: str, time: float) -> xr.DataArray:
    """Return the slopes of log drift against log step size, by seed and network.

    Args:
        result: The result of the study.
        arm: How the networks were trained.
        time: The time of gradient descent.
    """
    drift = result.drift.sel(arm=arm, drop=True).transpose("steps", "seed", "network")
    values = power(time / drift.steps.values, drift.values.reshape(drift.sizes["steps"], -1))
    return drift.isel(steps=0, drop=True).copy(data=values.reshape(drift.shape[1:]))


def remaining(result: xr.Dataset, arm: str) -> xr.DataArray:
    """Return the share of the drift with the largest step that is left in the limit of small steps.

    The limit is the linear extrapolation from the two smallest steps.

    Args:
        result: The result of the study.
        arm: How the networks were trained.
    """
    drift = result.drift.sel(arm=arm, drop=True).sortby("steps")
    (n_1, n_2), (d_1, d_2) = drift.steps.values[-2:], (drift.isel(steps=i, drop=True) for i in (-2, -1))
    return (n_2 * d_2 - n_1 * d_1) / (n_2 - n_1) / drift.isel(steps=0, drop=True)


def claims_of(result: xr.Dataset, time: float, epsilon: float, weight_decay: float) -> list[Claim]:
    """Judge the claims.

    Args:
        result: The result of the study.
        time: The time of gradient descent.
        epsilon: ε where it is not 0.
        weight_decay: Weight decay where there is some.
    """
    spoilers = {
        "without bias": ("bias", "With BatchNorm after the ReLU, the norm without the bias is not conserved"),
        "epsilon": ("epsilon", f"With ε = {epsilon:g}, norms are not conserved"),
        "weight decay": ("decay", f"With a weight decay of {weight_decay:g}, norms are not conserved"),
        "stored": ("stored", "With stored statistics, norms are not conserved"),
    }
    return [
        *(_first_order(result, arm, where, time) for arm, where in PLACES.items()),
        _kept(result),
        *(
            claim(f"LM.T3.drift.{key}", says, remaining(result, arm).mean("network").values, ">", REMAINS,
                  statistic="share of the drift with the largest step that is left in the limit of small steps")
            for arm, (key, says) in spoilers.items()
        ),
        _orthogonal(result),
    ]  # fmt: skip


def _first_order(result: xr.Dataset, arm: str, where: str, time: float) -> Claim:
    slope, turned = slopes(result, arm, time), result.turned.sel(arm=arm).isel(steps=-1)
    found = ", ".join(f"{float(slope.sel(network=name).mean()):.3f} ({name})" for name in slope.network.values)
    angle = np.degrees(float(turned.mean()))
    return claim(
        f"LM.T3.drift.{arm}", f"With BatchNorm {where}, the drift of norms is of first order in the step size",
        abs(slope - 1).mean("network").values, "<", FIRST_ORDER,
        f"The slopes are {found}. Meanwhile, weights turn by {angle:.0f}° on average.", (0, np.inf),
        "distance of the slope of log drift against log step size from 1, mean of the networks",
    )  # fmt: skip


def _kept(result: xr.Dataset) -> Claim:
    drift = result.drift.sel(steps=result.steps.max())
    ratio = np.log10(drift.sel(arm="none") / drift.sel(arm=list(PLACES)).max("arm"))
    return claim(
        "LM.T3.drift.kept", "With BatchNorm, norms change less than without it", ratio.mean("network").values, ">", 0,
        statistic="log₁₀ of the drift without BatchNorm, divided by the larger one with BatchNorm before or after the "
        "ReLU, for the smallest step; mean of the networks",
    )  # fmt: skip


def _orthogonal(result: xr.Dataset) -> Claim:
    normed = result.sel(arm=list(PLACES))
    gap = abs(normed.predicted / normed.drift - 1).max(("arm", "network", "steps"))
    return claim(
        "LM.T3.drift.orthogonal", "The drift is what orthogonal gradients give", gap.values, "<", EXACT,
        within=(0, np.inf), check=True,
        statistic="largest relative difference between the drift and the one if ‖w_j‖² grows by η² times the squared "
        "norm of its gradient per step",
    )  # fmt: skip


def controls_of(result: xr.Dataset) -> list[Control]:
    """Return results on which the claims must not hold.

    Args:
        result: The result of the study.
    """
    slope, spoiled = tuple(f"LM.T3.drift.{arm}" for arm in PLACES), ("bias", "epsilon", "decay", "stored")
    return [
        Control("networks without BatchNorm", (*slope, "LM.T3.drift.kept"), _replaced(result, "none", *PLACES)),
        Control("networks that satisfy all hypotheses", tuple(f"LM.T3.drift.{key}" for key in spoiled),
                _replaced(result, "before", "without bias", "epsilon", "weight decay", "stored")),
    ]  # fmt: skip


def _replaced(result: xr.Dataset, arm: str, *others: str) -> xr.Dataset:
    """The result with the values of one arm in the place of others."""
    index = [arm if name in others else name for name in result.arm.values.tolist()]
    return result.sel(arm=index).assign_coords(arm=result.arm.values)
