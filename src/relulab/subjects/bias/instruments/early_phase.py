"""The sectors of the units of a two-layer network at the end of the early phase of training (IB lemma 1).

By lemma 1, a network that starts small and balanced reaches a time at which every unit is off for good, or in a
positive extremal sector with a > 0, or in a negative extremal sector with a < 0. This file measures which of the three
holds for each unit. A unit for which none holds is undecided.
"""

from enum import IntEnum
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int, Int8, Num
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensor, tensors
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument
from relulab.subjects.bias.instruments.sectors import check_units, check_width, extremal_sectors, sector, signs


class Place(IntEnum):
    """The state of a unit according to lemma 1."""

    OFF = 0
    POSITIVE = 1
    NEGATIVE = 2
    UNDECIDED = 3


class NeuronSectors(NamedTuple):
    """The ``Place`` code of each unit, and the number of units of a network with codes 0, 1, 2 and 3."""

    code: Int[Tensor, "*lane p"]
    counts: Int[Tensor, "*lane 4"]

    __repr__ = short_repr


@instrument(source="IB lemma 1", ids=("IB.L1",))
def neuron_sectors(
    W: Num[Tensor, "*lane p d"] | Numbers,
    a: Num[Tensor, "*lane p"] | Numbers,
    X: Num[Tensor, "n d"] | Numbers,
    y: Numbers,
    *,
    positive: Num[Tensor, "k n"] | Numbers | None = None,
    negative: Num[Tensor, "l n"] | Numbers | None = None,
    tolerance: float | None = None,
) -> NeuronSectors:
    """Classify each unit as off, in σ₊ with a > 0, in σ₋ with a < 0, or undecided.

    A unit is off if wᵀx_i ≤ 0 for all i. By default the sectors are those of eqs. 13 and 14, which are the extremal
    sectors of orthogonally separable data. For other data, pass sectors yourself, such as those of
    ``extremal_directions``. Signs are computed as in ``sector``. Where σ_i is ±1, the sign of wᵀx_i must equal σ_i.

    Where eqs. 13 and 14 have a 0, a negative wᵀx_i is accepted too. There the flow slides along a kink, and nothing
    pulls it back from the side on which x_i is off. A step of finite size ends on that side, and wᵀx_i stays below 0;
    the unit returns to the kink only in direction, as w grows. Where a sector that you pass has a 0, the unit must be
    on the kink within ``tolerance``. A discrete flow may jump from side to side there, so choose a tolerance of the
    size of its relative steps.

    Args:
        W: First-layer weights, (…, p, d), one row per unit.
        a: Second-layer weights, (…, p).
        X: Points, (n, d), one row per point.
        y: Labels −1 and 1, (n,).
        positive: Sectors to use for σ₊, (k, n), with entries −1, 0 and 1. Default: the sector of eq. 13. Pass both
            ``positive`` and ``negative``, or neither.
        negative: Sectors to use for σ₋, (l, n). Default: the sector of eq. 14.
        tolerance: The largest cosine that counts as 0 where σ_i is 0, in [0, 1). Default: d · eps.

    Returns:
        The code of every unit, (…, p), and the number of units per code, (…, 4).

    >>> W, a = torch.tensor([[1.0, 0.0], [0.1, -1.0], [-1.0, 1.0], [1.0, 0.0]]), torch.tensor([1.0, -1.0, 1.0, -1.0])
    >>> sectors = neuron_sectors(W, a, torch.tensor([[1.0, 0.0], [0.0, -1.0]]), torch.tensor([1.0, -1.0]))
    >>> [Place(code).name for code in sectors.code.tolist()], sectors.counts.tolist()
    (['POSITIVE', 'UNDECIDED', 'OFF', 'UNDECIDED'], [1, 1, 0, 2])
    """
    W, a, X = tensors(W=W, a=a, points=X)
    y = signs(X, y)
    check_width(W, X)
    check_units(W, a)
    if (positive is None) != (negative is None):
        raise UserError("expected sectors for both signs or for neither, got one: pass both positive and negative")
    exact, near = sector(W, X), sector(W, X, tolerance=tolerance)
    if positive is None or negative is None:
        # where σ_i is 0, a negative sign is accepted too: see the docstring
        inside = [_inside(exact, near <= 0, sigma[None]) for sigma in extremal_sectors(X, y)]
    else:
        inside = [_inside(exact, near == 0, sigma) for sigma in (_given(positive, X), _given(negative, X))]
    code = torch.full(a.shape, int(Place.UNDECIDED), device=a.device)
    code[inside[0] & (a > 0)] = int(Place.POSITIVE)
    code[inside[1] & (a < 0)] = int(Place.NEGATIVE)
    code[(exact <= 0).all(-1)] = int(Place.OFF)
    return NeuronSectors(code, torch.nn.functional.one_hot(code, len(Place)).sum(-2))


def _given(sectors: Numbers, X: Tensor) -> Int8[Tensor, "k n"]:
    sigma = tensor("sectors", sectors).to(X.device)
    if sigma.dim() != 2 or sigma.shape[1] != len(X):
        raise UserError(
            f"expected sectors of shape (any number, {len(X)}), one sign per point, got shape {tuple(sigma.shape)}: "
            "pass one row per sector"
        )
    return sigma.to(torch.int8)


def _inside(
    exact: Int8[Tensor, "*lane p n"], zero: Bool[Tensor, "*lane p n"], sectors: Int8[Tensor, "k n"]
) -> Bool[Tensor, "*lane p"]:
    """Whether each unit lies in one of the sectors; ``zero`` marks the signs that are accepted as 0."""
    inside = torch.zeros(exact.shape[:-1], dtype=torch.bool, device=exact.device)
    for sigma in sectors:  # there are few; all at once would need memory for units × points × sectors
        inside |= torch.where(sigma == 0, zero, exact == sigma).all(-1)
    return inside
