"""A two-layer network on its way by gradient flow from a small balanced start, on one data set."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.data.labelled import Labelled
from relulab.flow.gradient_flow import gradient_flow
from relulab.nets.initial import balanced
from relulab.nets.mlp import MLP

DECADE = 10.0  # rates are taken over the last tenfold of −log ℓ


class Look(NamedTuple):
    """The neurons at one moment."""

    W: Float64[Tensor, "p d"]
    a: Float64[Tensor, " p"]
    log_loss: float


def neurons(net: MLP) -> tuple[Float64[Tensor, "lane p d"], Float64[Tensor, "lane p"]]:
    """W with a neuron a row, and a."""
    return net.W[0].data.mT.double(), net.W[1].data[..., 0].double()


def path(
    data: Labelled,
    *,
    width: int = 100,
    seed: int = 0,
    size: float = 1e-8,
    until: float = 1000.0,
    step: float = 0.4,
    start: MLP | None = None,
    shortcut: bool = True,
) -> list[Look]:
    """Looks at one network as gradient flow takes it to ℓ = e^(−until), the start first and the end last.

    The start is balanced, with ‖w_j‖ = |a_j| = ``size``, unless one is given, which is then trained in place.
    """
    net = balanced((data.X.shape[1], width, 1), [seed], size=size) if start is None else start
    found = []

    def each(clock):
        W, a = neurons(net)
        found.append(Look(W[0].clone(), a[0].clone(), float(clock.log_loss[0])))

    clock = gradient_flow(net, data.X, data.y, until=until, step=step, each=each, shortcut=shortcut)
    on = (data.X @ found[-1].W.T > 0).any(0)
    if -float(clock.log_loss[0]) < until and on.any():
        raise UserError(_unfinished(found[-1], data, clock.steps, until))
    return found


def _unfinished(look: Look, data: Labelled, steps: int, until: float) -> str:
    """Why a path did not come to its end."""
    unseen = [int(label) for label in (1, -1) if not (data.X[data.y == label] @ look.W.T > 0).any()]
    if unseen:
        return (
            f"no neuron is left that is active on points of label {unseen[0]:+d}, so their loss stays: take another "
            "seed or more width"
        )
    return (
        f"after {steps:,} steps the loss is e^{look.log_loss:.3g}, not e^−{until:g}, and it hardly falls any more: the "
        "data cannot be fitted from this start, or until is too high"
    )


def last_decade(looks: list[Look]) -> list[Look]:
    """The looks at which −log ℓ is within a factor of ten of its last value: where a rate is to be seen."""
    end = -looks[-1].log_loss
    return [look for look in looks[:-1] if -look.log_loss >= end / DECADE > 0] + looks[-1:]


def rate(looks: list[Look], distances: list[float]) -> float:
    """The power of −log ℓ with which a distance changes: the slope of its logarithm, NaN with fewer than 3 looks."""
    if len(looks) < 3 or min(distances) <= 0:
        return float("nan")
    return float(np.polyfit(np.log([-look.log_loss for look in looks]), np.log(distances), 1)[0])
