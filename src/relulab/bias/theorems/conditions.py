"""Conditions that the theorems of IB share (IB section 2), as checks."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from relulab.bias.limit import live
from relulab.bias.max_margin import MaxMargin, max_margin
from relulab.bias.path import Look, last_decade, path
from relulab.bias.separability import separability
from relulab.bias.trained import looked_at
from relulab.data.labelled import Labelled
from relulab.lab.theorem import Check

NEAR_ZERO = 0.01  # outputs at the start: our reading of "small enough", which moves no ℓ'_i by more than half a percent
ROUNDING = 64  # of sums of squares, in units of the last place


class Setting(NamedTuple):
    """What theorem 1 and its corollary speak of, with their conditions; nothing but these if the data do not fit."""

    conditions: tuple[Check, ...]
    found: MaxMargin | None = None
    looks: Sequence[Look] = ()
    on: Bool[Tensor, " p"] | None = None
    """which neurons are live"""

    @property
    def applies(self) -> bool:
        """Whether there is anything to look at: separable data, and neurons that are live on them."""
        return self.on is not None and bool(self.on.any())


def theorem_1(data: Labelled, network: nn.Module | None, start: nn.Module | None, **flow) -> Setting:
    """The setting of theorem 1: a trained network as it stands, or the last tenfold of −log ℓ of a flow of our own."""
    separable = orthogonally_separable(data)
    if not all(c.holds for c in separable):
        return Setting(separable)
    found = max_margin(data.X, data.y)
    if network is None:
        looks = path(data, start=start, **flow)
        first, looks, dtype = looks[0], last_decade(looks), torch.float64
    else:
        looks, first = [looked_at(network, data)], looked_at(start, data) if start is not None else None
        dtype = next(network.parameters()).dtype
    on = live(looks[-1].W, data.X)
    some = Check("neurons that are active at some point, of which the theorem speaks", int(on.sum()), ">=", 1)
    return Setting((*separable, *supports_span(found), *started(first, looks[-1], data, dtype), some), found, looks, on)


def orthogonally_separable(data: Labelled) -> tuple[Check, ...]:
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


def started(first: Look | None, last: Look, data: Labelled, dtype: torch.dtype) -> tuple[Check, Check]:
    """A start near zero and balanced. Of a trained network without its start, the first cannot be told.

    The other can: gradient flow keeps ‖w_j‖² − a_j² (IB.L4), so it is looked at where the network stands.
    """
    says = "largest |f(x_i)| at the start"
    if first is None:
        small = Check(f"{says}, which was not given", math.nan, "<=", NEAR_ZERO)
    else:
        small = Check(says, float(((data.X @ first.W.T).relu() @ first.a).abs().max()), "<=", NEAR_ZERO)
    return small, balanced(first or last, dtype)


def balanced(look: Look, dtype: torch.dtype = torch.float64) -> Check:
    """‖w_j‖ = |a_j| for every neuron, up to the rounding of the type that they are kept in."""
    norms, a = look.W.norm(dim=1), look.a.abs()
    largest = float(torch.maximum(norms, a).max())
    gap = float((norms - a).abs().max()) / (largest or 1.0)
    rounding = ROUNDING * torch.finfo(dtype).eps
    return Check("largest gap of ‖w_j‖ and |a_j|, as a share of the largest of them", gap, "==", 0.0, rounding)
