"""Top weights of a two-layer network anew, by least squares, so that its hidden nodes give the outputs asked for."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP


@torch.no_grad()
def refit(net: MLP, f: Float[Tensor, "N n"], y: Float[Tensor, "N C"]) -> None:
    """Sets the top weights and biases of a network, in place.

    Args:
        net: one network of two layers, whose top is set.
        f: the activations of its hidden nodes.
        y: the outputs that they should give.
    """
    _solve(net, _with_constant(f), y)


@torch.no_grad()
def refit_in_parts(net: MLP, x: Float[Tensor, "N d"], y: Float[Tensor, "N C"], size: int) -> None:
    """The same from points, by the normal equations: for so many that activations of all would not fit.

    Args:
        net: one network of two layers, whose top is set.
        x: points.
        y: the outputs that they should give.
        size: points that are looked at together.
    """
    n = net.widths[1]
    gram, cross = x.new_zeros(n + 1, n + 1), y.new_zeros(n + 1, y.shape[1])
    for part, its in zip(x.split(size), y.split(size), strict=True):
        f = _with_constant(net.layers(part)[0][0])
        gram += f.T @ f
        cross += f.T @ its
    _solve(net, gram, cross)


def _with_constant(f: Float[Tensor, "N n"]) -> Float[Tensor, "N n1"]:
    return torch.nn.functional.pad(f, (0, 1), value=1.0)


def _solve(net: MLP, A: Float[Tensor, "k n1"], B: Float[Tensor, "k C"]) -> None:
    # LAPACK's gelsd, the one that copes with nodes that depend on each other, is on the CPU only.
    top = torch.linalg.lstsq(A.cpu(), B.cpu(), driver="gelsd").solution.to(A.device)
    net.W[1].data[0], net.b[1].data[0, 0] = top[:-1], top[-1]
