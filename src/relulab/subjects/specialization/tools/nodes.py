"""Nodes of a layer as hyperplanes: weights and biases, a node a row."""

from copy import deepcopy
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP


class Nodes(NamedTuple):
    """Nodes σ(w̃ᵀx + b) of one network, or of many with a lane axis in front."""

    w: Float[Tensor, "*lane n d"]
    b: Float[Tensor, "*lane n"]


def lowest(net: nn.Module, lane: int = 0) -> Nodes:
    """The nodes of the lowest layer of one network, in float64.

    Args:
        net: An ``MLP`` or an ``nn.Sequential`` of Linear and ReLU layers, at least two of them Linear.
        lane: Which of the networks of an ``MLP``, from 0.

    >>> lowest(MLP((3, 5, 2))).w.shape
    torch.Size([5, 3])
    """
    net = net if isinstance(net, MLP) else MLP.of(net)
    if net.depth < 2:
        raise UserError("a network of one layer has no hidden nodes")
    return Nodes(net.W[0].data[lane].T.double(), net.b[0].data[lane, 0].double())


def regularized(net: nn.Module) -> MLP:
    """The same function with regular hidden nodes, ‖w̃‖ = 1: each norm moves into the weights above (SS definition 1).

    A node without weights stays as it is.

    Args:
        net: An ``MLP`` or an ``nn.Sequential`` of Linear and ReLU layers; it stays as it is.

    >>> net = MLP((2, 1, 1))
    >>> net.W[0].data[0], net.W[1].data[0] = torch.tensor([[3.0], [4.0]]), torch.tensor([[2.0]])
    >>> [p.data[0].tolist() for p in regularized(net).W]
    [[[0.6000000238418579], [0.800000011920929]], [[10.0]]]
    """
    net = deepcopy(net if isinstance(net, MLP) else MLP.of(net))
    for W, b, above in zip(net.W[:-1], net.b[:-1], net.W[1:], strict=True):
        norm = W.data.norm(dim=-2, keepdim=True)
        norm = norm.where(norm > 0, 1)
        W.data /= norm
        b.data /= norm
        above.data *= norm.mT
    return net


def regular(nodes: Nodes) -> Nodes:
    """Nodes scaled to ‖w̃‖ = 1 (SS definition 1); one without weights, which has no hyperplane, becomes 0.

    Args:
        nodes: Nodes with weights (…, n, d) and biases (…, n).

    >>> [t.tolist() for t in regular(Nodes(torch.tensor([[3.0, 4.0]]), torch.tensor([10.0])))]
    [[[0.6000000238418579, 0.800000011920929]], [2.0]]
    """
    largest = nodes.w.abs().amax(-1)
    # squares of very large or very small weights would leave the number range
    norm = (nodes.w / largest.where(largest > 0, 1).unsqueeze(-1)).norm(dim=-1) * largest
    safe = norm.where(norm > 0, 1)
    return Nodes(nodes.w / safe.unsqueeze(-1), torch.where(norm > 0, nodes.b / safe, 0))
