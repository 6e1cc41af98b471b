"""Conditions shared by the theorems of IB (IB section 2), as checks."""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled
from relulab.flow.margin_losses import AnyLoss, FlowLoss, followed
from relulab.flow.trajectory import Trajectory
from relulab.lab.theorem import Check
from relulab.subjects.bias.instruments.limit import live
from relulab.subjects.bias.instruments.max_margin import MaxMargin, max_margin
from relulab.subjects.bias.instruments.separability import Pairs, separability
from relulab.subjects.bias.tools.loss_conditions import exponential_tail, steady_pull
from relulab.subjects.bias.tools.neuron_flow import last_decade, neuron_flow
from relulab.subjects.bias.tools.trained_network import looked_at, plain

NEAR_ZERO = 0.01  # largest outputs at the start: our reading of "small"; it moves no ℓ'_i by more than two percent
FLOWED = 0.01  # our reading of "trained by gradient flow" for a network that was trained in steps
ARRIVED = 0.05  # largest distance of a trained network from the end of gradient flow from its start, relative to ‖W‖
FARTHEST = 50_000.0  # −log ℓ to which the flow from the start of a trained network is followed, about a minute
BALANCED = "The start is balanced, ‖w_j‖ = |a_j| for every neuron j"
ROUNDING = 64  # rounding error of sums of squares, in units of the machine epsilon


class Trained(NamedTuple):
    """A trained network with the max-margin vectors of its data, for theorem 1 and its corollary."""

    vectors: MaxMargin
    path: Trajectory[Tensor]
    """snapshots of the network; the last one is checked"""
    on: Bool[Tensor, " p"]
    """which neurons are live: active on at least one point"""


class Setting(NamedTuple):
    """The conditions of theorem 1, and the trained network if it has live neurons."""

    conditions: tuple[Check, ...]
    trained: Trained | None = None


def theorem_1(
    data: Labeled,
    network: nn.Module | None,
    start: nn.Module | None,
    *,
    loss: AnyLoss = "logistic",
    any_tail: bool = False,
    **flow: Any,
) -> Setting:
    """Check the conditions of theorem 1 on a trained network, or on a network trained here by gradient flow.

    Args:
        data: Points, (n, d), with labels −1 and 1.
        network: A trained network. None trains one; its snapshots over the last tenfold of −log ℓ are kept.
        start: The network before training, or None.
        loss: Name of the loss.
        any_tail: Whether to leave out the condition on the tail of the loss, as the paper does.
        flow: Options of ``neuron_flow``.
    """
    losses = (steady_pull(loss),) if any_tail else (steady_pull(loss), exponential_tail(loss))
    separable = orthogonally_separable(data)
    if not all(c.holds for c in separable) or not followed(loss) or not (any_tail or losses[-1].holds):
        return Setting((*separable, *losses))
    vectors = max_margin(data.X, data.y)
    if start is not None:
        looked_at(start, data, loss)  # refuses a start whose products overflow, before it is followed
    if network is None:
        flowed_path = neuron_flow(data, start=None if start is None else plain(start, data), loss=loss, **flow)
        first, path, dtype = flowed_path.only(torch.tensor([0])), last_decade(flowed_path), _dtype(start)
    else:
        path, first = looked_at(network, data, loss), looked_at(start, data, loss) if start is not None else None
        dtype = _dtype(network)
        if first:
            _belongs(first, path)
    on = live(path.end, data.X)
    some = Check(
        "Some neuron is active on at least one point", int(on.sum()), ">=", 1,
        detail=f"{int(on.sum()):,} of {len(on):,} neurons are",
    )  # fmt: skip
    conditions = (*separable, *supports_span(vectors), *started(first, data, dtype))
    if network is not None:
        applies = all(c.holds for c in (*conditions, *losses))
        conditions += (_flowed(path), _arrived(data, start, path, loss if applies else None))
    return Setting((*conditions, *losses, some), Trained(vectors, path, on) if on.any() else None)


def _dtype(net: nn.Module | None) -> torch.dtype:
    return torch.float64 if net is None else next(net.parameters()).dtype


def _belongs(first: Trajectory[Tensor], last: Trajectory[Tensor]) -> None:
    """Check that the start can be that of the network: as many neurons, and the same signs of a_j (IB.L4)."""
    if first.end.shape != last.end.shape:
        raise UserError(
            f"the start has {len(first.end)} neurons, but the network has {len(last.end)}: give the start of this "
            "network"
        )
    turned = int((first["a"][-1].sign() != last["a"][-1].sign()).sum())
    if turned:
        raise UserError(
            f"a_j has different signs in the start and in the network for {turned} of {len(first.end)} neurons, but "
            "gradient flow keeps the signs: give the start of this network"
        )


def _flowed(path: Trajectory[Tensor]) -> Check:
    """Training must be close to gradient flow, which keeps balanced neurons balanced."""
    norms, a = path.end.norm(dim=1), path["a"][-1].abs()
    gap = float((norms - a).abs().max() / torch.maximum(norms, a).max())
    return Check(
        "The trained neurons are balanced, ‖w_j‖ ≈ |a_j| for every neuron j, as after gradient flow", gap, "<=", FLOWED,
        detail=f"the two differ by at most {gap:.2g} of the largest norm, must be at most {FLOWED:g}",
    )  # fmt: skip


def _arrived(data: Labeled, start: nn.Module | None, path: Trajectory[Tensor], loss: FlowLoss | None) -> Check:
    """Gradient flow from the start must lead to the network: it is followed to the same loss, if conditions hold."""
    says, until = "Gradient flow from the start leads to the network", -float(path["log_loss"][-1])
    if start is None or loss is None or not 0 < until <= FARTHEST:
        why = (
            "the start is unknown" if start is None else "a condition fails" if loss is None else "the loss is above 1"
        )
        why = f"the loss e^−{until:.3g} is too small to follow the flow to it" if until > FARTHEST else why
        return Check(says, math.nan, "<=", ARRIVED, detail=f"unknown, because {why}")
    end = neuron_flow(data, start=plain(start, data), until=until, loss=loss).end
    gap = float((end - path.end).norm() / path.end.norm())
    return Check(
        says, gap, "<=", ARRIVED,
        detail=f"at the same loss, W differs by {gap:.2g} of ‖W‖, must be at most {ARRIVED:g}",
    )  # fmt: skip


def orthogonally_separable(data: Labeled) -> tuple[Check, ...]:
    """Check eq. 1 over all pairs; inner products within rounding of 0 count as 0.

    Args:
        data: Points, (n, d), with labels −1 and 1.
    """
    fewest = int(min((data.y > 0).sum(), (data.y < 0).sum()))
    if not fewest:
        return (Check("Both classes have points", fewest, ">=", 1, detail="one class has no points"),)
    pairs = separability(data.X, data.y, pairs=0, subset=False)
    kinds = (
        ("Every two points of the same class have a positive inner product", pairs.equal),
        ("Every two points of different classes have a non-positive inner product", pairs.different),
    )
    return tuple(Check(says, kind.broken, "==", 0, detail=_pairs(kind)) for says, kind in kinds)


def _pairs(kind: Pairs) -> str:
    verb = "does" if kind.broken == 1 else "do"
    return f"{kind.broken:,} of {kind.count:,} pairs {verb} not" if kind.broken else f"all {kind.count:,} pairs do"


def supports_span(vectors: MaxMargin) -> tuple[Check, ...]:
    """Check that the support examples of each class span R^d.

    Args:
        vectors: Max-margin vectors of the data.
    """
    return tuple(
        Check(
            f"The {name} support examples span the input space", side.rank, ">=", len(side.w),
            detail=f"their span has {side.rank:,} of {len(side.w):,} dimensions",
        )
        for name, side in (("positive", vectors.positive), ("negative", vectors.negative))
    )  # fmt: skip


def started(first: Trajectory[Tensor] | None, data: Labeled, dtype: torch.dtype) -> tuple[Check, Check]:
    """Check that the network starts near zero and balanced; undecided if its start is not known.

    Args:
        first: The network before training, or None.
        data: Points, (n, d), with labels −1 and 1.
        dtype: The data type in which the weights were stored.
    """
    says = "The network starts near zero"
    if first is None:
        unknown = "unknown, the network before training was not given"
        return (
            Check(says, math.nan, "<=", NEAR_ZERO, detail=unknown),
            Check(BALANCED, math.nan, "==", 0.0, detail=unknown),
        )
    largest = (first["a"][-1].abs() @ first.end.norm(dim=1)) * data.X.norm(dim=1).max()
    detail = f"its outputs are at most {float(largest):.2g} at the start, must be at most {NEAR_ZERO:g}"
    return Check(says, float(largest), "<=", NEAR_ZERO, detail=detail), balanced(first, dtype)


def balanced(path: Trajectory[Tensor], dtype: torch.dtype = torch.float64) -> Check:
    """Check ‖w_j‖ = |a_j| for every neuron in the last snapshot, up to rounding.

    Args:
        path: Snapshots with ``W`` and ``a``.
        dtype: The data type in which the weights were stored.
    """
    norms, a = path.end.norm(dim=1), path["a"][-1].abs()
    largest = float(torch.maximum(norms, a).max())
    gap = float((norms - a).abs().max()) / (largest or 1.0)
    rounding = ROUNDING * torch.finfo(dtype).eps
    detail = f"the two differ by at most {gap:.2g} of the largest norm; up to {rounding:.2g} is rounding"
    return Check(BALANCED, gap, "==", 0.0, rounding, detail=detail)
