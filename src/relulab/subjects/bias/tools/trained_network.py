"""A user's trained network, read as the neurons (w_j, a_j) that IB speaks of."""

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled
from relulab.flow.on_log_loss import log_cross_entropy
from relulab.flow.trajectory import Trajectory
from relulab.nets.mlp import MLP
from relulab.subjects.bias.tools.neuron_flow import neurons


def looked_at(network: nn.Module, data: Labeled) -> Trajectory[Tensor]:
    """The one look that a trained network gives: its neurons ``W`` and ``a``, and its ``log_loss`` on the data.

    Args:
        network: a two-layer ReLU network without biases and with one output.
        data: points with labels ±1.
    """
    W, a = neurons(plain(network, data))
    f = (data.X @ W[0].T).relu() @ a[0]
    log_loss = log_cross_entropy((data.y * f)[None])[0]
    unknown = torch.full_like(log_loss, torch.nan)
    return Trajectory(unknown, {"W": W, "a": a, "log_loss": log_loss}, False, "it was trained elsewhere")


def plain(network: nn.Module, data: Labeled) -> MLP:
    """A user's network as an MLP of one lane in float64, without biases, that shares nothing with it.

    Args:
        network: a two-layer ReLU network with one output.
        data: the points that it should take.
    """
    net = network if isinstance(network, MLP) else MLP.of(network)
    if net.depth != 2 or net.lanes != 1 or net.slope or net.widths[-1] != 1:
        raise UserError(
            f"a network of widths {net.widths}, slope {net.slope:g}, {net.lanes} lanes: one two-layer ReLU network "
            "with one output was expected"
        )
    if max(float(b.data.abs().max()) for b in net.b):
        raise UserError("a network with biases was given: the theorem speaks of those without, f(x) = aᵀρ(Wx)")
    if net.widths[0] != data.X.shape[1]:
        raise UserError(f"the network takes {net.widths[0]} inputs, the data have {data.X.shape[1]} columns")
    if not all(p.data.isfinite().all() for p in net.parameters()):
        raise UserError("the network has NaN or infinite weights: its training diverged")
    bare = MLP(net.widths, bias=False, dtype=torch.float64)
    for mine, its in zip(bare.W, net.W, strict=True):
        mine.data.copy_(its.data)
    return bare
