"""Networks reduced to some of their nodes, and the variance that this loses."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.refit import refit
from relulab.subjects.specialization.tools.two_layer_pruning import prune_two_layers


@torch.no_grad()
def some_of(net: MLP, x: Float[Tensor, "N d"], nodes: Int[Tensor, " k"]) -> MLP:
    """Keep some hidden nodes of a network and refit its top weights to the old outputs by least squares.

    Args:
        net: A single two-layer network.
        x: Points of the fit, (N, d).
        nodes: Indices of the nodes to keep, (k,).
    """
    net = MLP.of(net.module()).double()
    f, y = (t[0] for t in net.layers(x))
    small = MLP((net.widths[0], len(nodes), net.widths[-1]), dtype=torch.float64)
    small.W[0].data[0], small.b[0].data[0] = net.W[0].data[0][:, nodes], net.b[0].data[0][:, nodes]
    refit(small, f[:, nodes], y)
    return small


@torch.no_grad()
def strongest_of(net: MLP, x: Float[Tensor, "N d"], n: int, epsilon: float) -> MLP:
    """Merge aligned hidden nodes, keep those that contribute most, and refit the top weights by least squares.

    Args:
        net: A single two-layer network.
        x: Points of the fit, (N, d).
        n: Number of nodes to keep.
        epsilon: Alignment error up to which nodes are merged.
    """
    small = prune_two_layers(net, x, epsilon=epsilon, keep=n, refit=False).net
    refit(small, small.layers(x)[0][0], MLP.of(net.module()).double()(x)[0])
    return small


@torch.no_grad()
def lost_share(net: MLP, small: MLP, x: Float[Tensor, "N d"]) -> float:
    """Return the share of the variance of a network's outputs that another network does not explain.

    Args:
        net: A single network.
        small: The network that approximates it.
        x: Points, (N, d).
    """
    y = MLP.of(net.module()).double()(x)[0]
    return float((small(x)[0] - y).square().sum() / (y - y.mean(0)).square().sum())
