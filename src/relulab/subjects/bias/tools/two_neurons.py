"""Pruning of a two-layer network to the two neurons that IB theorem 1 predicts, one per class, and what it costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.numbers import tensor
from relulab.core.share import Estimate, share
from relulab.data.labeled import Labeled
from relulab.nets.mlp import MLP, as_mlp


@dataclass(frozen=True)
class TwoNeurons:
    """A network pruned to two neurons, with its costs at the test points.

    Attributes:
        net: The network of width two, in float64. The first neuron has a positive and the second a negative output
            weight.
        positive: Number of neurons with a positive output weight that were merged.
        negative: The same for negative output weights.
        off: Number of neurons that are active at no point or have the output weight 0; they are left out.
        tested: Number of test points.
        same: Share of test points at which both networks predict the same class, with its exact 95% interval.
        largest: Largest change of the output at a test point.
        relative: ``largest`` divided by the largest absolute output of either network at a test point.
        before: Share of test points that the unpruned network classifies correctly; None without labels.
        after: The same for the pruned network.
    """

    net: MLP
    positive: int
    negative: int
    off: int
    tested: int
    same: Estimate
    largest: float
    relative: float
    before: Estimate | None
    after: Estimate | None


@torch.no_grad()
def two_neurons(
    net: nn.Module, X: Tensor | np.ndarray | Sequence, test: Tensor | np.ndarray | Labeled | None = None
) -> TwoNeurons:
    r"""Prune a two-layer ReLU network with one output to two neurons, by the sign of their output weights.

    The pruned network is f₂(x) = ρ(Σ_{a_j > 0} a_j w_jᵀx) − ρ(Σ_{a_j < 0} |a_j| w_jᵀx). It equals f where all neurons
    with the same sign are active, or all are not, as in the limit of IB theorem 1. In general, f is larger by
    min(p, q) for neurons with a_j > 0, where p = Σ a_j ρ(w_jᵀx) and q = Σ a_j ρ(−w_jᵀx), and smaller by the same
    expression for the others. A bias of a neuron is treated as the weight of a constant input; the output bias is kept.

    Args:
        net: A two-layer ReLU network with one output whose sign is the predicted class.
        X: Points, (n, d). Neurons that are active at none of them are left out.
        test: Points at which the costs are measured, with labels (``labeled``) or without. Default: X. The interval of
            ``same`` is for new points of the same kind if these points had no part in training or in X.

    >>> net = MLP((2, 4, 1), bias=False)
    >>> net.W[0].data[0] = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, -1.0], [0.0, -3.0]]).T
    >>> net.W[1].data[0, :, 0] = torch.tensor([2.0, 1.0, -1.0, -1.0])
    >>> small = two_neurons(net, [[1.0, 1.0], [-1.0, -2.0]])
    >>> small.net.widths, small.positive, small.negative, small.same.value, small.largest < 1e-12
    ((2, 2, 1), 2, 2, 1.0, True)
    """
    full = _checked(net)
    X = tensor("points", X).double()
    _fits(full, X)
    z = _inputs(full, X)
    a = full.W[1].data[0, :, 0]
    on = (z > 0).any(0) & (a != 0)
    if not on.any():
        raise UserError(
            f"none of the {len(a)} neurons is active at any of the {len(X)} points: use points from the training data"
        )
    small = _merged(full, on)
    test = X if test is None else test
    x, y = (test.X, test.y) if isinstance(test, Labeled) else (tensor("test points", test).double(), None)
    _fits(full, x)
    f, g = (n(x)[0, :, 0] for n in (full, small))
    right = [None, None] if y is None else [share(int(((h > 0) == (y > 0)).sum()), len(x)) for h in (f, g)]
    largest, scale = float((f - g).abs().max()), float(torch.maximum(f.abs(), g.abs()).max())
    return TwoNeurons(
        small, int((on & (a > 0)).sum()), int((on & (a < 0)).sum()), int((~on).sum()), len(x),
        share(int(((f > 0) == (g > 0)).sum()), len(x)), largest, largest / scale if largest else 0.0, *right,
    )  # fmt: skip


def _merged(full: MLP, on: Tensor) -> MLP:
    """Sum a_j (w_j, b_j) over the neurons of each sign; both layers get the same share of the norm."""
    a, rows = full.W[1].data[0, :, 0], torch.cat([full.W[0].data[0], full.b[0].data[0]]).T
    units = a.abs().max(), rows.abs().max()  # products of very large or small weights stay in the range of float64
    root = units[0].sqrt() * units[1].sqrt()
    small = MLP((full.widths[0], 2, 1), bias=full.bias, dtype=torch.float64)
    for k, sign in enumerate((1, -1)):
        chosen = on & (a * sign > 0)
        total = (a[chosen].abs() / units[0]) @ (rows[chosen] / units[1])
        size = total.norm().sqrt()
        if size > 0:
            merged = root * total / size
            small.W[0].data[0, :, k], small.b[0].data[0, 0, k] = merged[:-1], merged[-1]
            small.W[1].data[0, k, 0] = sign * root * size
    small.b[1].data.copy_(full.b[1].data)
    return small


def _checked(net: nn.Module) -> MLP:
    """A copy of the network in float64."""
    found = as_mlp(net)
    if found.depth != 2 or found.lanes != 1 or found.slope or found.widths[-1] != 1:
        raise UserError(
            f"expected one two-layer ReLU network with one output, got widths {found.widths}, slope {found.slope:g} "
            f"and {found.lanes} lanes: a network with two outputs has one output after their difference"
        )
    if not all(p.data.isfinite().all() for p in found.parameters()):
        raise UserError("the network has NaN or infinite weights, so its training diverged: use another network")
    full = MLP(found.widths, bias=found.bias, dtype=torch.float64)
    full.load_state_dict(found.state_dict())
    return full


def _fits(full: MLP, x: Tensor) -> None:
    if x.dim() != 2 or not len(x) or x.shape[1] != full.widths[0] or not x.isfinite().all():
        raise UserError(
            f"expected finite points of shape (n, {full.widths[0]}) for a network with {full.widths[0]} inputs, got "
            f"shape {tuple(x.shape)}"
        )


def _inputs(full: MLP, x: Float64[Tensor, "n d"]) -> Float64[Tensor, "n p"]:
    return x @ full.W[0].data[0] + full.b[0].data[0]
