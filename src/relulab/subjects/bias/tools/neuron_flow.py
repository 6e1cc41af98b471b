"""Snapshots of a two-layer network during gradient flow from a small balanced start, on one data set."""

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.slope import power
from relulab.data.labeled import Labeled
from relulab.flow.gradient_flow import Clock, gradient_flow
from relulab.flow.margin_losses import FlowLoss
from relulab.flow.trajectory import Trajectory
from relulab.nets.initial import balanced
from relulab.nets.mlp import MLP

DECADE = 10.0  # rates are measured over the last tenfold of −log ℓ


def neurons(net: MLP) -> tuple[Float64[Tensor, "lane p d"], Float64[Tensor, "lane p"]]:
    """Return W, (lane, p, d), with one row per neuron, and a, (lane, p).

    Args:
        net: Two-layer networks with one output.
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
    loss: FlowLoss = "logistic",
) -> Trajectory[Tensor]:
    """Train one network by gradient flow to ℓ = e^{−until}; return snapshots of ``W``, ``a`` and ``log_loss``.

    If no neuron is active on one class any more, the loss of that class is constant. The flow then goes on with the
    other class, whose loss is ℓ from there on. On orthogonally separable data such a class stays without neurons.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        width: Number of neurons of the balanced start.
        seed: Seed of the balanced start.
        size: ‖w_j‖ = |a_j| of every neuron at the balanced start.
        until: −log ℓ at the end.
        step: Largest fall of log ℓ in one step; weights change by at most an eighth of it.
        start: A network to start from, which is trained in place. None means a balanced start.
        shortcut: Whether to follow the network as two linear networks once its activations are fixed.
        loss: Name of the loss.
    """
    net = balanced((data.X.shape[1], width, 1), [seed], size=size) if start is None else start
    snapshots: list[tuple[Tensor, Tensor, Clock]] = []

    def each(clock: Clock) -> None:
        W, a = neurons(net)
        snapshots.append((W[0].mT.clone(), a[0].clone(), clock))

    options = {"until": until, "step": step, "each": each, "shortcut": shortcut, "loss": loss}
    clock = gradient_flow(net, data.X, data.y, **options)
    reached = -float(clock.log_loss[0]) >= until
    if not reached and len(served := _served(data, snapshots[-1][0])) == 1:
        clock = gradient_flow(net, data.X[data.y == served[0]], data.y[data.y == served[0]], **options)
        reached = -float(clock.log_loss[0]) >= until
    path = Trajectory(
        torch.stack([clock.log_t[0].exp() for *_, clock in snapshots]),
        # W is stored as in the network, with one column per neuron, so that products round as in the network
        {"W": torch.stack([W for W, *_ in snapshots]).mT, "a": torch.stack([a for _, a, _ in snapshots]),
         "log_loss": torch.stack([clock.log_loss[0] for *_, clock in snapshots])},
        reached, f"the loss is e^{{−{until:g}}}" if reached else "every neuron is off", clock.steps,
    )  # fmt: skip
    if not reached and (data.X @ path.end.T > 0).any():
        raise UserError(
            f"the loss is e^{float(path['log_loss'][-1]):.3g} after {path.steps:,} steps, not e^−{until:g}, and it "
            "hardly falls any more: use a smaller until, another start, or data that can be fitted"
        )
    return path


def _served(data: Labeled, W: Float64[Tensor, "d p"]) -> list[int]:
    """The labels on whose points some neuron is active."""
    return [label for label in (1, -1) if (data.X[data.y == label] @ W > 0).any()]


def last_decade(path: Trajectory[Tensor]) -> Trajectory[Tensor]:
    """Return the snapshots over the last tenfold of −log ℓ, over which rates are measured.

    Args:
        path: Snapshots with ``log_loss``.
    """
    end = -path["log_loss"][-1]
    late = (-path["log_loss"] >= end / DECADE) & (end > 0)
    late[-1] = True
    return path.only(late)


def rate(path: Trajectory[Tensor], distances: list[float]) -> float:
    """Compute the power of −log ℓ with which a distance changes, by a log-log fit; NaN with fewer than 3 snapshots.

    Args:
        path: Snapshots with ``log_loss``.
        distances: One distance per snapshot.
    """
    return float(power((-path["log_loss"]).cpu().numpy(), distances, fewest=3))
