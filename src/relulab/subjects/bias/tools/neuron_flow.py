"""A two-layer network on its way by gradient flow from a small balanced start, on one data set."""

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.slope import power
from relulab.data.labeled import Labeled
from relulab.flow.gradient_flow import Clock, gradient_flow
from relulab.flow.trajectory import Trajectory
from relulab.nets.initial import balanced
from relulab.nets.mlp import MLP

DECADE = 10.0  # rates are taken over the last tenfold of −log ℓ


def neurons(net: MLP) -> tuple[Float64[Tensor, "lane p d"], Float64[Tensor, "lane p"]]:
    """W with a neuron a row, and a.

    Args:
        net: two-layer networks with one output.
    """
    return net.W[0].data.mT.double(), net.W[1].data[..., 0].double()


def neuron_flow(
    data: Labeled,
    *,
    width: int = 100,
    seed: int = 0,
    size: float = 1e-8,
    until: float = 1000.0,
    step: float = 0.4,
    start: MLP | None = None,
    shortcut: bool = True,
) -> Trajectory[Tensor]:
    """The neurons ``W`` and ``a`` of one network and its ``log_loss`` as gradient flow takes it to ℓ = e^(−until).

    Args:
        data: points with labels ±1.
        width: neurons of the network that is started.
        seed: of its start.
        size: ‖w_j‖ = |a_j| at the start.
        until: −log ℓ at the end.
        step: the largest relative change of a weight, and the largest fall of log ℓ, in one step.
        start: a network to begin with, which is then trained in place.
        shortcut: whether the rest is followed as that of two linear networks once it is.
    """
    net = balanced((data.X.shape[1], width, 1), [seed], size=size) if start is None else start
    looks: list[tuple[Tensor, Tensor, Clock]] = []

    def each(clock: Clock) -> None:
        W, a = neurons(net)
        looks.append((W[0].mT.clone(), a[0].clone(), clock))

    clock = gradient_flow(net, data.X, data.y, until=until, step=step, each=each, shortcut=shortcut)
    reached = -float(clock.log_loss[0]) >= until
    found = Trajectory(
        torch.stack([clock.log_t[0].exp() for *_, clock in looks]),
        # Each W is kept as the network has it, neurons along its columns: products then round as those of the network.
        {"W": torch.stack([W for W, *_ in looks]).mT, "a": torch.stack([a for _, a, _ in looks]),
         "log_loss": torch.stack([clock.log_loss[0] for *_, clock in looks])},
        reached, f"the loss is e^(−{until:g})" if reached else "every neuron is off", clock.steps,
    )  # fmt: skip
    if not reached and (data.X @ found.end.T > 0).any():
        raise UserError(_unfinished(found, data, until))
    return found


def _unfinished(found: Trajectory[Tensor], data: Labeled, until: float) -> str:
    """Why a path did not come to its end."""
    unseen = [int(label) for label in (1, -1) if not (data.X[data.y == label] @ found.end.T > 0).any()]
    if unseen:
        return (
            f"no neuron is left that is active on points of label {unseen[0]:+d}, so their loss stays: take another "
            "seed or more width"
        )
    return (
        f"after {found.steps:,} steps the loss is e^{float(found['log_loss'][-1]):.3g}, not e^−{until:g}, and it "
        "hardly falls any more: the data cannot be fitted from this start, or until is too high"
    )


def last_decade(path: Trajectory[Tensor]) -> Trajectory[Tensor]:
    """The looks at which −log ℓ is within a factor of ten of its last value: where a rate is to be seen.

    Args:
        path: with its ``log_loss``.
    """
    end = -path["log_loss"][-1]
    late = (-path["log_loss"] >= end / DECADE) & (end > 0)
    late[-1] = True
    return path.only(late)


def rate(path: Trajectory[Tensor], distances: list[float]) -> float:
    """The power of −log ℓ with which a distance changes: the slope of its logarithm, NaN with fewer than 3 looks.

    Args:
        path: with its ``log_loss``.
        distances: one a look.
    """
    return float(power((-path["log_loss"]).cpu().numpy(), distances, fewest=3))
