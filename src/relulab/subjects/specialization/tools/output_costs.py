"""What a smaller network costs: how far its outputs are from those of the whole one, with 95% intervals."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.share import Estimate, share
from relulab.lab.claim import half_width
from relulab.subjects.specialization.tools.agreement import classes_of, predictions


class Costs(NamedTuple):
    """Outputs of a smaller network compared with those of the whole one, at N points.

    Attributes:
        lost: Share of the variance of the outputs that is lost.
        agree: Share of points at which the largest output stays the same; None for a single output.
        accuracy: Share of points at which the smaller network predicts the label; None without labels.
        loss: Mean cross-entropy of the labels; None without labels, and for a single output.
        largest: Largest change of an output.
    """

    lost: Estimate
    agree: Estimate | None
    accuracy: Estimate | None
    loss: Estimate | None
    largest: float


def variance_lost(y: Float[Tensor, "N C"], small: Float[Tensor, "N C"]) -> float:
    """Return the squared change of the outputs as a share of their variance.

    Args:
        y: Outputs of the whole network.
        small: Outputs of the smaller one.
    """
    return float((small - y).square().sum() / _spread(y).sum())


def costs(y: Float[Tensor, "N C"], small: Float[Tensor, "N C"], labels: Shaped[Tensor, " N_"] | None = None) -> Costs:
    """Compare the outputs of a smaller network with those of the whole one.

    Args:
        y: Outputs of the whole network.
        small: Outputs of the smaller one.
        labels: Classes, from 0, or −1 and 1 for a single output.
    """
    several, n = y.shape[1] > 1, len(y)
    accuracy = loss = None
    if labels is not None:
        classes = classes_of(labels, y)
        accuracy = share(int((predictions(small) == classes).sum()), n)
        if several:
            each = torch.nn.functional.cross_entropy(small, classes, reduction="none")
            half = float(each.std()) * half_width(n)
            loss = Estimate(float(each.mean()), max(0.0, float(each.mean()) - half), float(each.mean()) + half)
    agree = share(int((predictions(small) == predictions(y)).sum()), n) if several else None
    gap, spread = (small - y).square().sum(1), _spread(y)
    ratio = float(gap.mean() / spread.mean())
    error = float(((gap - ratio * spread) / spread.mean()).std()) * half_width(n)
    lost = Estimate(ratio, max(0.0, ratio - error), ratio + error)
    return Costs(lost, agree, accuracy, loss, float((small - y).abs().max()))


def _spread(y: Tensor) -> Float[Tensor, " N"]:
    spread = (y - y.mean(0)).square().sum(1)
    rounding = 8 * torch.finfo(y.dtype).eps
    if not float(spread.sum()) > rounding**2 * float(y.square().sum()):
        raise UserError("the output of the network is the same on all points: use points on which it varies")
    return spread
