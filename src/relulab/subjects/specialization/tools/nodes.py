"""Nodes of a layer as hyperplanes: weights and biases, one row per node."""

import math
from copy import deepcopy
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.lab.show.words import number
from relulab.nets.mlp import MLP, as_mlp


class Nodes(NamedTuple):
    """Nodes σ(w̃ᵀx + b) of one network, or of several networks with a leading lane axis.

    Args:
        w: Weights, (…, n, d), one row per node; ``lowest(net)`` gives the nodes of a network.
        b: Biases, (…, n), one per node; ``lowest(net)`` gives the nodes of a network.
    """

    w: Float[Tensor, "*lane n d"]
    b: Float[Tensor, "*lane n"]

    __repr__ = short_repr


def lowest(net: nn.Module, lane: int = 0) -> Nodes:
    """The nodes of the lowest layer of one network, in float64.

    Args:
        net: An ``MLP`` or an ``nn.Sequential`` of Linear and ReLU layers, at least two of them Linear.
        lane: Index of the network in an ``MLP``, from 0.

    >>> lowest(MLP((3, 5, 2))).w.shape
    torch.Size([5, 3])
    """
    net = as_mlp(net)
    if net.depth < 2:
        raise UserError(f"expected a network with at least two layers, got {net.depth}: one layer has no hidden nodes")
    net = net.lane(lane)
    return Nodes(net.W[0].data[0].T.double(), net.b[0].data[0, 0].double())


def gates(active: Bool[Tensor, "*shape"], slope: float) -> Float[Tensor, "*shape"]:
    """The derivative of the (leaky) ReLU in float64: 1 for active nodes, and the slope for all others.

    Args:
        active: Whether a node is active.
        slope: Slope of the leaky ReLU; 0 is the plain ReLU.

    >>> gates(torch.tensor([True, False]), 0.1).tolist()
    [1.0, 0.1]
    """
    one = torch.ones((), dtype=torch.float64)
    return torch.where(active, one, slope * one)


def regularized(net: nn.Module) -> MLP:
    """Return the same function with regular hidden nodes, ‖w̃‖ = 1 (SS definition 1).

    The norm of each node is moved into the weights above it. A node with zero weights is not changed.

    Args:
        net: An ``MLP`` or an ``nn.Sequential`` of Linear and ReLU layers. It is not changed.

    >>> net = MLP((2, 1, 1))
    >>> net.W[0].data[0], net.W[1].data[0] = torch.tensor([[3.0], [4.0]]), torch.tensor([[2.0]])
    >>> [p.data[0].tolist() for p in regularized(net).W]
    [[[0.6000000238418579], [0.800000011920929]], [[10.0]]]
    """
    net = deepcopy(as_mlp(net))
    for W, b, above in zip(net.W[:-1], net.b[:-1], net.W[1:], strict=True):
        norm = W.data.norm(dim=-2, keepdim=True)
        norm = norm.where(norm > 0, 1)
        W.data /= norm
        b.data /= norm
        above.data *= norm.mT
    return net


def regular(nodes: Nodes) -> Nodes:
    """Scale nodes to ‖w̃‖ = 1 (SS definition 1). A node with zero weights has no hyperplane and becomes 0.

    A node with weights that are NaN or infinite becomes NaN.

    Args:
        nodes: Nodes with weights (…, n, d) and biases (…, n), for instance ``lowest(net)``.

    >>> [t.tolist() for t in regular(Nodes(torch.tensor([[3.0, 4.0]]), torch.tensor([10.0])))]
    [[[0.6000000238418579, 0.800000011920929]], [2.0]]
    """
    largest = nodes.w.abs().amax(-1)
    # divide by the largest entry first, since squares of very large or small weights would over- or underflow
    norm = (nodes.w / largest.where(largest > 0, 1).unsqueeze(-1)).norm(dim=-1) * largest
    safe = norm.where(norm != 0, 1)  # NaN stays NaN
    return Nodes(nodes.w / safe.unsqueeze(-1), torch.where(norm != 0, nodes.b / safe, 0))


def apart(error: float, least: float) -> str:
    """How far two of some hyperplanes are apart, in words.

    Args:
        error: The smallest alignment error between two of them.
        least: The smallest one that counts as apart.

    >>> apart(0.25, 1e-12)
    'the smallest alignment error between two of them is 0.25; below 1e-12 they would count as the same'
    """
    if math.isinf(error):
        return "there is only one"
    same = f"below {number(least)} they would count as the same"
    return f"the smallest alignment error between two of them is {number(error)}; {same}"
