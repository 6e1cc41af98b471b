"""Residual ReLU networks without biases (IB eq. 30), many of one shape side by side."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError


class Residual(nn.Module):
    r"""f_1 = W_1 x, f_l = f_{l−1} + W_l ρ(f_{l−1}) for 1 < l < L, f = W_L ρ(f_{L−1}); one network a lane.

    Weights lie as in ``MLP``: (lane, n_{l−1}, n_l), the nodes of a layer in the columns. With ``depth`` 2 this is a
    two-layer ReLU network. Parameters start at zero; ``relulab.nets.initial`` has the random starts.

    Args:
        widths: Inputs, width of the hidden layers, and outputs: (d, p, C).
        depth: L, the number of weight matrices, at least 2.
        lanes: Number of networks side by side.
        dtype: Floating type of the parameters.

    >>> Residual((3, 5, 1), depth=4, lanes=2)(torch.zeros(7, 3)).shape
    torch.Size([2, 7, 1])
    """

    bias = False
    slope = 0.0

    def __init__(self, widths: Sequence[int], *, depth: int, lanes: int = 1, dtype: torch.dtype = torch.float32):
        super().__init__()
        if len(widths) != 3 or min(*widths, lanes) < 1 or depth < 2:
            raise UserError(
                f"widths {tuple(widths)}, depth {depth}, {lanes} lanes: (inputs, width, outputs), all at least 1, and "
                "at least two layers were expected"
            )
        d, p, C = widths
        self.widths, self.depth, self.lanes = (d, p, C), depth, lanes
        shapes = [(d, p), *[(p, p)] * (depth - 2), (p, C)]
        self.W = nn.ParameterList(nn.Parameter(torch.zeros(lanes, *shape, dtype=dtype)) for shape in shapes)

    @property
    def dtype(self) -> torch.dtype:
        return self.W[0].dtype

    def forward(self, x: Float[Tensor, "*lane N d"]) -> Float[Tensor, "lane N C"]:
        return residual(tuple(self.W), x)


def residual(W: tuple[Tensor, ...], x: Float[Tensor, "*lane N d"]) -> Float[Tensor, "lane N C"]:
    """The network with weights W at x."""
    f = x @ W[0]
    for W_l in W[1:-1]:
        f = torch.baddbmm(f, f.relu(), W_l)
    return f.relu() @ W[-1]
