"""Residual ReLU networks without biases (IB eq. 30), as a batch (lanes) of networks of one shape."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.mlp import check_points, described_shape


class Residual(nn.Module):
    r"""Residual networks f_1 = W_1 x, f_l = f_{l−1} + W_l ρ(f_{l−1}) for 1 < l < L, f = W_L ρ(f_{L−1}), one per lane.

    Weights are stored as in ``MLP``, with shape (lane, n_{l−1}, n_l): the columns are the nodes of a layer. With
    ``depth`` 2 this is a two-layer ReLU network. All parameters are zero at first; ``relulab.nets.initial`` has
    functions for random initialization.

    Args:
        widths: Number of inputs, width of the hidden layers, and number of outputs: (d, p, C).
        depth: The number L of weight matrices, at least 2.
        lanes: Number of networks.
        dtype: Data type of the parameters.

    >>> Residual((3, 5, 1), depth=4, lanes=2)(torch.zeros(7, 3)).shape
    torch.Size([2, 7, 1])
    """

    bias = False
    slope = 0.0

    def __init__(self, widths: Sequence[int], *, depth: int, lanes: int = 1, dtype: torch.dtype = torch.float32):
        super().__init__()
        if len(widths) != 3 or min(*widths, lanes) < 1 or depth < 2:
            raise UserError(
                "expected widths (inputs, width, outputs) and lanes of at least 1 and a depth of at least 2, got "
                f"widths={tuple(widths)}, lanes={lanes} and depth={depth}: change the value out of range"
            )
        d, p, C = widths
        self.widths, self.depth, self.lanes = (d, p, C), depth, lanes
        shapes = [(d, p), *[(p, p)] * (depth - 2), (p, C)]
        self.W = nn.ParameterList(nn.Parameter(torch.zeros(lanes, *shape, dtype=dtype)) for shape in shapes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({described_shape(self)}, depth {self.depth})"

    @property
    def dtype(self) -> torch.dtype:
        """The data type of the parameters."""
        return self.W[0].dtype

    def forward(self, x: Float[Tensor, "*lane N d"]) -> Float[Tensor, "lane N C"]:
        check_points(self, x)
        return residual(tuple(self.W), x)


def residual(W: tuple[Tensor, ...], x: Float[Tensor, "*lane N d"]) -> Float[Tensor, "lane N C"]:
    """Return the output of the residual network with weights W at x.

    Args:
        W: The L weight matrices, each (lane, n_{l−1}, n_l).
        x: Points, (N, d) for all lanes, or (lane, N, d).
    """
    f = x @ W[0]
    for W_l in W[1:-1]:
        f = torch.baddbmm(f, f.relu(), W_l)
    return f.relu() @ W[-1]
