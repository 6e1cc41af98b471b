"""Checks that a distance from a limit of training is small, or on its way to zero."""

import math

from torch import Tensor

from relulab.flow.margin_losses import LATE as LATE
from relulab.flow.trajectory import Trajectory
from relulab.lab.theorem import Check

COSINE = 0.9999
FAR = math.sqrt(1 - COSINE**2)  # sine of the angle with that cosine
FALLS = -0.25  # largest power of −log ℓ that counts as a fall to zero; in the limit it is −1 or −1/2


def at(log_loss: float) -> str:
    """The loss at which a limit is checked, in words.

    Args:
        log_loss: log ℓ.

    >>> at(-300.2)
    'at the loss ℓ = e^{−300.2}'
    """
    return f"at the loss ℓ = e^{{{log_loss:.4g}}}".replace("-", "−")


def falls(says: str, power: float, path: Trajectory[Tensor], late: float = LATE) -> Check:
    """Check that a distance falls; undecided if it does not yet fall early in training.

    Args:
        says: The requirement.
        power: The power of −log ℓ with which the distance changes.
        path: The snapshots over which the power was measured.
        late: −log ℓ from which a distance that does not fall refutes the theorem.
    """
    settled = -float(path["log_loss"][-1]) >= late
    detail = f"it changes as (−log ℓ)^{{{power:.2f}}}, the power must be at most {FALLS:g}".replace("-", "−")
    if math.isnan(power):
        detail = "its rate is unknown, there are too few snapshots"
    return Check(says, power, "<=", FALLS, 0.0 if power <= FALLS or settled else math.inf, detail=detail)


def bounded(says: str, measured: float, bound: float, settled: bool, detail: str = "") -> Check:
    """Check that a distance is small; undecided if it is still large but falling, or early in training.

    Args:
        says: The requirement.
        measured: The distance.
        bound: The largest value that counts as small.
        settled: Whether the distance is late in training and no longer falls.
        detail: The result in words.
    """
    still_to_fall = 0.0 if settled else max(0.0, measured - bound) * (1 + 1e-9)
    return Check(says, measured, "<=", bound, still_to_fall, detail=detail)
