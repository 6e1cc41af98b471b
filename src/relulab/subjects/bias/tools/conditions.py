"""Conditions that the theorems of IB share (IB section 2), as checks."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled
from relulab.flow.trajectory import Trajectory
from relulab.lab.theorem import Check
from relulab.subjects.bias.instruments.limit import live
from relulab.subjects.bias.instruments.max_margin import MaxMargin, max_margin
from relulab.subjects.bias.instruments.separability import separability
from relulab.subjects.bias.tools.neuron_flow import last_decade, neuron_flow
from relulab.subjects.bias.tools.trained_network import looked_at, plain

NEAR_ZERO = 0.01  # outputs at the start: our reading of "small enough", which moves no ℓ'_i by more than half a percent
FLOWED = 0.01  # our reading of "trained by gradient flow" for a network that was trained by steps
ROUNDING = 64  # of sums of squares, in units of the last place


class Seen(NamedTuple):
    """What theorem 1 and its corollary speak of: separable data, and neurons that are live on them."""

    found: MaxMargin
    path: Trajectory[Tensor]
    """the network at its looks, the last of them where it is judged"""
    on: Bool[Tensor, " p"]
    """which neurons are live"""


class Setting(NamedTuple):
    """The conditions of theorem 1, and what it speaks of if there is anything to look at."""

    conditions: tuple[Check, ...]
    seen: Seen | None = None


def theorem_1(data: Labeled, network: nn.Module | None, start: nn.Module | None, **flow) -> Setting:
    """The setting of theorem 1: a trained network as it stands, or the last tenfold of −log ℓ of a flow of our own."""
    separable = orthogonally_separable(data)
    if not all(c.holds for c in separable):
        return Setting(separable)
    found = max_margin(data.X, data.y)
    if network is None:
        whole = neuron_flow(data, start=None if start is None else plain(start, data), **flow)
        first, path, dtype = whole.only(torch.tensor([0])), last_decade(whole), _dtype(start)
    else:
        path, first = looked_at(network, data), looked_at(start, data) if start is not None else None
        dtype = _dtype(network)
        if first:
            _belongs(first, path)
    on = live(path.end, data.X)
    some = Check("neurons that are active at some point, of which the theorem speaks", int(on.sum()), ">=", 1)
    start_of_it = started(first, data, dtype)
    flowed = (_flowed(path),) if network is not None else ()
    return Setting(
        (*separable, *supports_span(found), *start_of_it, *flowed, some), Seen(found, path, on) if on.any() else None
    )


def _dtype(net: nn.Module | None) -> torch.dtype:
    return torch.float64 if net is None else next(net.parameters()).dtype


def _belongs(first: Trajectory[Tensor], last: Trajectory[Tensor]) -> None:
    """A start must be that of the network: as many neurons, with the signs that no flow changes (IB.L4)."""
    if first.end.shape != last.end.shape:
        raise UserError(
            f"the start has {len(first.end)} neurons and the network {len(last.end)}: give the start of this network"
        )
    turned = int((first["a"][-1].sign() != last["a"][-1].sign()).sum())
    if turned:
        raise UserError(
            f"{turned} of {len(first.end)} neurons have another sign of a_j in the start than in the network, which no "
            "gradient flow changes: give the start of this network"
        )


def _flowed(path: Trajectory[Tensor]) -> Check:
    """Training near enough to gradient flow, which keeps balanced neurons balanced, for the theorem to speak of it."""
    norms, a = path.end.norm(dim=1), path["a"][-1].abs()
    gap = float((norms - a).abs().max() / torch.maximum(norms, a).max())
    return Check("largest gap of ‖w_j‖ and |a_j| after training, as a share of the largest", gap, "<=", FLOWED)


def orthogonally_separable(data: Labeled) -> tuple[Check, ...]:
    """Eq. 1, over all pairs; inner products within rounding of 0 count as 0."""
    fewest = int(min((data.y > 0).sum(), (data.y < 0).sum()))
    if not fewest:
        return (Check("points of the smaller class", fewest, ">=", 1),)
    found = separability(data.X, data.y, pairs=0, subset=False)
    kinds = (("equal", found.equal, "<= 0"), ("different", found.different, "> 0"))
    return tuple(
        Check(f"pairs of {word} labels, of {pairs.count:,}, with xᵀx' {wrong}", pairs.broken, "==", 0)
        for word, pairs, wrong in kinds
    )


def supports_span(found: MaxMargin) -> tuple[Check, ...]:
    """The support examples of either class span R^d."""
    sides = (("positive", found.positive), ("negative", found.negative))
    return tuple(
        Check(f"rank of the {len(side.supports)} {name} support examples, in R^d", side.rank, ">=", len(side.w))
        for name, side in sides
    )


def started(first: Trajectory[Tensor] | None, data: Labeled, dtype: torch.dtype) -> tuple[Check, Check]:
    """A start near zero and balanced; of a trained network without its start neither can be told."""
    says = "Σ_j |a_j|‖w_j‖ · max ‖x_i‖ at the start, which bounds the outputs"
    if first is None:
        return (
            Check(f"{says}; it was not given", math.nan, "<=", NEAR_ZERO),
            Check("largest gap of ‖w_j‖ and |a_j| at the start; it was not given", math.nan, "==", 0.0),
        )
    largest = (first["a"][-1].abs() @ first.end.norm(dim=1)) * data.X.norm(dim=1).max()
    return Check(says, float(largest), "<=", NEAR_ZERO), balanced(first, dtype)


def balanced(path: Trajectory[Tensor], dtype: torch.dtype = torch.float64) -> Check:
    """‖w_j‖ = |a_j| for every neuron at the last look, up to the rounding of the type that they are kept in.

    Args:
        path: with its ``W`` and ``a``.
        dtype: that type.
    """
    norms, a = path.end.norm(dim=1), path["a"][-1].abs()
    largest = float(torch.maximum(norms, a).max())
    gap = float((norms - a).abs().max()) / (largest or 1.0)
    rounding = ROUNDING * torch.finfo(dtype).eps
    return Check("largest gap of ‖w_j‖ and |a_j|, as a share of the largest of them", gap, "==", 0.0, rounding)
