"""Inputs that have the same value at all points, such as the border pixels of digits: they act as biases."""

from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP


def fold_constant_inputs(x: Float[Tensor, "N d"], *nets: MLP) -> tuple[Float[Tensor, "N varying"], list[MLP]]:
    """Remove the inputs that are constant on the points, and add their contribution to the biases of the first layer.

    The outputs at the points stay the same.

    Args:
        x: Points, (N, d).
        nets: Single networks with d inputs. They are not changed.

    >>> import torch
    >>> net = MLP((2, 1, 1))
    >>> net.W[0].data[0] = torch.tensor([[1.0], [4.0]])
    >>> x, (smaller,) = fold_constant_inputs(torch.tensor([[1.0, 3.0], [2.0, 3.0]]), net)
    >>> x.tolist(), smaller.W[0].data[0].tolist(), smaller.b[0].data[0].tolist()
    ([[1.0], [2.0]], [[1.0]], [[12.0]])
    """
    varies = x.amin(0) < x.amax(0)
    if varies.all():
        return x, list(nets)
    if not varies.any():
        raise UserError("all points are the same, so no hyperplane can be compared on them: use points that differ")
    constant, folded = x[0, ~varies], []
    for net in nets:
        smaller = MLP((int(varies.sum()), *net.widths[1:]), slope=net.slope, dtype=net.dtype)
        for l in range(net.depth):
            smaller.W[l].data, smaller.b[l].data = net.W[l].data.clone(), net.b[l].data.clone()
        smaller.W[0].data = net.W[0].data[:, varies]
        smaller.b[0].data += constant.to(net.dtype) @ net.W[0].data[0, ~varies]
        folded.append(smaller)
    return x[:, varies], folded
