"""What is left of a network of which some nodes are kept."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.refit import refit


@torch.no_grad()
def some_of(net: MLP, x: Float[Tensor, "N d"], nodes: Int[Tensor, " k"]) -> MLP:
    """The network of some of the nodes, with top weights refit to the old outputs by least squares.

    Args:
        net: one network of two layers.
        x: points on which the outputs are held against each other.
        nodes: those that stay.
    """
    net = MLP.of(net.module()).double()
    f, y = (t[0] for t in net.layers(x))
    small = MLP((net.widths[0], len(nodes), net.widths[-1]), dtype=torch.float64)
    small.W[0].data[0], small.b[0].data[0] = net.W[0].data[0][:, nodes], net.b[0].data[0][:, nodes]
    refit(small, f[:, nodes], y)
    return small


@torch.no_grad()
def lost_share(net: MLP, small: MLP, x: Float[Tensor, "N d"]) -> float:
    """The share of the first one's variance on points that the second does not explain.

    Args:
        net: one network.
        small: what should stand for it.
        x: points.
    """
    y = MLP.of(net.module()).double()(x)[0]
    return float((small(x)[0] - y).square().sum() / (y - y.mean(0)).square().sum())
