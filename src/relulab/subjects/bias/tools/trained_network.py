"""A trained two-layer network as neurons (w_j, a_j), as in IB."""

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled
from relulab.flow.margin_losses import FlowLoss, log_loss_of
from relulab.flow.trajectory import Trajectory
from relulab.nets.mlp import MLP, as_mlp
from relulab.subjects.bias.tools.neuron_flow import neurons


def looked_at(network: nn.Module, data: Labeled, loss: FlowLoss = "logistic") -> Trajectory[Tensor]:
    """Return one snapshot of a trained network: its neurons ``W`` and ``a``, and its ``log_loss`` on the data.

    Args:
        network: A two-layer ReLU network without biases and with one output.
        data: Points, (n, d), with labels −1 and 1.
        loss: Name of the loss.
    """
    W, a = neurons(plain(network, data))
    f = (data.X @ W[0].T).relu() @ a[0]
    largest = float(max(t.abs().max() for t in (W, a)))
    if not (f.isfinite().all() and W.norm().isfinite() and a.norm().isfinite()):
        raise UserError(
            f"the network has weights up to {largest:.1g}, whose products overflow in float64: divide all weights by "
            "one number, which changes no direction"
        )
    log_loss = log_loss_of(loss)((data.y * f)[None])[0]
    unknown = torch.full_like(log_loss, torch.nan)
    return Trajectory(unknown, {"W": W, "a": a, "log_loss": log_loss}, False, "the network was trained elsewhere")


def plain(network: nn.Module, data: Labeled) -> MLP:
    """Copy a network to an MLP with one lane in float64, without biases.

    Args:
        network: A two-layer ReLU network with one output.
        data: The points to which it will be applied.
    """
    net = as_mlp(network)
    if net.depth != 2 or net.lanes != 1 or net.slope or net.widths[-1] != 1:
        raise UserError(
            f"expected one two-layer ReLU network with one output, got widths {net.widths}, slope {net.slope:g} and "
            f"{net.lanes} lanes"
        )
    if max(float(b.data.abs().max()) for b in net.b):
        raise UserError(
            "expected a network without biases, f(x) = aᵀρ(Wx), got one with biases: train it with bias=False"
        )
    if net.widths[0] != data.X.shape[1]:
        raise UserError(
            f"the data have {data.X.shape[1]} columns: expected a network with as many inputs, got {net.widths[0]}"
        )
    if not all(p.data.isfinite().all() for p in net.parameters()):
        raise UserError(
            "the network has NaN or infinite weights, so its training diverged: use a smaller learning rate"
        )
    copy = MLP(net.widths, bias=False, dtype=torch.float64)
    for target, source in zip(copy.W, net.W, strict=True):
        target.data.copy_(source.data)
    return copy
