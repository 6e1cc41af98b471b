"""Two networks compared as functions: how often their predictions agree, and how far apart their outputs are."""

from dataclasses import dataclass
from math import sqrt

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.core.share import Estimate, share
from relulab.lab.claim import half_width
from relulab.nets.hooks import applied, fitted, points
from relulab.nets.mlp import MLP

CHUNK = 2000  # points per pass


@dataclass(frozen=True)
class Agreement:
    """How far two networks agree at N points, with 95% intervals for new points of the same kind.

    Attributes:
        points: The number N of points.
        same: Share of points with the same prediction: the largest output, or the sign of a single output.
        distance: Root mean square of ‖f_A − f_B‖.
        relative: ``distance`` divided by the standard deviation of the outputs of A; None if these are constant.
        largest: Largest difference of an output.
        accuracy_a: Share of points at which A predicts the label; None without labels.
        accuracy_b: The same for B.
    """

    points: int
    same: Estimate
    distance: Estimate
    relative: Estimate | None
    largest: float
    accuracy_a: Estimate | None
    accuracy_b: Estimate | None


def agreement(
    a: nn.Module, b: nn.Module, x: Shaped[Tensor, "N *x"], labels: Shaped[Tensor, " N_"] | None = None
) -> Agreement:
    """Compare two networks as functions, on points.

    Args:
        a: A network with one output per class, or with a single output.
        b: Another network with the same inputs and outputs.
        x: Points, (N, …), at least 2. Intervals assume that they were drawn independently.
        labels: Classes, (N,): numbers of outputs from 0, or 0 and 1 (or −1 and 1) for a single output.

    >>> net = nn.Linear(3, 2)
    >>> agreement(net, net, torch.eye(3)).same.value
    1.0
    """
    x = points(x)
    if x.dim() < 1 or len(x) < 2 or not x.numel():
        raise UserError(f"expected at least 2 points, got x of shape {tuple(x.shape)}: use more points")
    f_a, f_b = outputs(a, x), outputs(b, x)
    if f_a.shape != f_b.shape:
        raise UserError(
            f"expected networks with the same number of outputs, got {f_a.shape[1]} and {f_b.shape[1]}: compare "
            "networks for the same task"
        )
    p_a, p_b = predictions(f_a), predictions(f_b)
    right = [None, None] if labels is None else [p == classes_of(labels, f_a) for p in (p_a, p_b)]
    accuracy_a, accuracy_b = (None if r is None else share(int(r.sum()), len(x)) for r in right)
    gap, spread = (f_a - f_b).square().sum(1), (f_a - f_a.mean(0)).square().sum(1)
    return Agreement(
        points=len(x),
        same=share(int((p_a == p_b).sum()), len(x)),
        distance=_root_ratio(gap, torch.ones_like(gap)),
        relative=_root_ratio(gap, spread) if float(spread.sum()) > 0 else None,
        largest=float((f_a - f_b).abs().max()),
        accuracy_a=accuracy_a,
        accuracy_b=accuracy_b,
    )


@torch.no_grad()
def outputs(net: nn.Module, x: Shaped[Tensor, "N *x"]) -> Float[Tensor, "N C"]:
    """Return the outputs of a network in eval mode, one row per point, in float64.

    Args:
        net: An ``MLP`` with one lane, or any module.
        x: Points, (N, …).
    """
    if isinstance(net, MLP) and net.lanes != 1:
        raise UserError(f"expected one network, got {net.lanes} lanes: select one with net.lane(i)")
    training = [m for m in net.modules() if m.training]
    net.eval()
    try:
        parts = [applied(net, fitted(net, part)) for part in followed(x.split(CHUNK), "computing outputs")]
    finally:
        for m in training:
            m.training = True
    f = torch.cat([part[0] if isinstance(net, MLP) else part for part in parts]).double()
    return f.reshape(len(x), -1)


def predictions(f: Float[Tensor, "N C"]) -> Shaped[Tensor, " N"]:
    """Return the number of the largest output, or for a single output whether it is positive.

    Args:
        f: Outputs, (N, C).
    """
    return (f[:, 0] > 0).long() if f.shape[1] == 1 else f.argmax(1)


def classes_of(labels: Shaped[Tensor, " N"], f: Float[Tensor, "M C"]) -> Shaped[Tensor, " N"]:
    """Return the labels as numbers of outputs; for a single output, labels −1 and 1 become 0 and 1.

    Args:
        labels: The labels, one per point.
        f: Outputs.
    """
    classes = max(f.shape[1], 2)
    if labels.shape != (len(f),):
        raise UserError(f"expected one label per point, ({len(f)},), got {tuple(labels.shape)}: give {len(f)} labels")
    if f.shape[1] == 1 and set(labels.unique().tolist()) <= {-1, 1}:
        return (labels > 0).long()
    whole = labels.long()
    if not (whole == labels).all():
        raise UserError("expected labels that are whole numbers, got fractions: number the classes from 0")
    if whole.min() < 0 or whole.max() >= classes:
        raise UserError(
            f"expected labels from 0 to {classes - 1}, the numbers of the outputs, got {int(whole.min())} to "
            f"{int(whole.max())}: number the classes from 0"
        )
    return whole


def _root_ratio(gap: Float[Tensor, " N"], scale: Float[Tensor, " N"]) -> Estimate:
    """Return √(mean of gap / mean of scale) with a 95% interval by the delta method."""
    ratio = float(gap.mean() / scale.mean())
    error = float(((gap - ratio * scale) / scale.mean()).std()) * half_width(len(gap))
    return Estimate(sqrt(ratio), sqrt(max(0.0, ratio - error)), sqrt(ratio + error))
