"""Least-squares fit of the top weights of a two-layer network to given outputs."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP


@torch.no_grad()
def refit(net: MLP, f: Float[Tensor, "N n"], y: Float[Tensor, "N C"]) -> None:
    """Fit the top weights and biases of a network to given outputs, in place.

    Args:
        net: One two-layer network. Its top layer is changed in place.
        f: Activations of its hidden nodes, (N, n).
        y: Target outputs, (N, C).
    """
    _solve(net, _with_constant(f), y)


@torch.no_grad()
def refit_in_parts(net: MLP, x: Float[Tensor, "N d"], y: Float[Tensor, "N C"], size: int) -> None:
    """Fit the top weights and biases from points, by the normal equations, in place.

    Use this if the activations at all points do not fit into memory.

    Args:
        net: One two-layer network. Its top layer is changed in place.
        x: Points, (N, d).
        y: Target outputs, (N, C).
        size: Number of points processed at once.
    """
    n = net.widths[1]
    gram, cross = x.new_zeros(n + 1, n + 1), y.new_zeros(n + 1, y.shape[1])
    for x_, y_ in zip(x.split(size), y.split(size), strict=True):
        f = _with_constant(net.layers(x_)[0][0])
        gram += f.T @ f
        cross += f.T @ y_
    _solve(net, gram, cross)


def _with_constant(f: Float[Tensor, "N n"]) -> Float[Tensor, "N n1"]:
    return torch.nn.functional.pad(f, (0, 1), value=1.0)


def _solve(net: MLP, A: Float[Tensor, "k n1"], B: Float[Tensor, "k C"]) -> None:
    # gelsd of LAPACK handles linearly dependent nodes, but is available on the CPU only
    top = torch.linalg.lstsq(A.cpu(), B.cpu(), driver="gelsd").solution.to(A.device)
    net.W[1].data[0], net.b[1].data[0, 0] = top[:-1], top[-1]
