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
    # gelsd of LAPACK handles linearly dependent nodes, but is available on the CPU only
    A = torch.nn.functional.pad(f, (0, 1), value=1.0)
    top = torch.linalg.lstsq(A.cpu(), y.cpu(), driver="gelsd").solution.to(A.device)
    net.W[1].data[0], net.b[1].data[0, 0] = top[:-1], top[-1]
