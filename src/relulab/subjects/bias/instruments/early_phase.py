"""Where the units of a two-layer network are at the end of the early phase: off, or in an extremal sector (IB lemma 1).

Lemma 1 says that, started small and balanced, every unit comes to be one of three: off for good, in a positive extremal
sector with a > 0, or in a negative one with a < 0. Here this is measured; a unit that is none of them is undecided.
"""

from enum import IntEnum
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int, Int8, Num
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensor, tensors
from relulab.lab.instrument import instrument
from relulab.subjects.bias.instruments.sectors import check_units, check_width, extremal_sectors, sector, signs


class Place(IntEnum):
    """Where a unit is, by lemma 1."""

    OFF = 0
    POSITIVE = 1
    NEGATIVE = 2
    UNDECIDED = 3


class NeuronSectors(NamedTuple):
    """A code of ``Place`` for each unit, and how many units of a network have codes 0, 1, 2 and 3."""

    code: Int[Tensor, "*lane p"]
    counts: Int[Tensor, "*lane 4"]


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
    """Which units (rows of W, second-layer weights a) are off, in σ₊ with a > 0, in σ₋ with a < 0, or undecided.

    Off is wᵀx_i ≤ 0 for all i. The sectors are those of eqs. 13 and 14, right for orthogonally separable data, unless
    others are given, for instance those that ``extremal_directions`` found. Signs follow the rule of ``sector``, and
    where σ_i is ±1 the sign must be that one.

    Where eqs. 13 and 14 put a 0, any wᵀx_i below 0 is accepted as well. There the flow slides along a kink, and nothing
    pulls it back from the side where x_i is off: a step of finite size falls to that side, wᵀx_i then rests below 0,
    and only in direction, as w grows, does the unit come back to the kink. Where a given sector has a 0, the unit must
    be on the kink, within ``tolerance``: a discrete flow may jump from side to side there, and a tolerance of the size
    of its relative steps is in place.

    Args:
        W: First-layer weights, (…, p, d), a unit a row.
        a: Second-layer weights, (…, p).
        X: Points, (n, d), a point a row.
        y: Labels −1 and 1, (n,).
        positive: Sectors to take for σ₊, (k, n), with entries −1, 0 and 1. None takes that of eq. 13. Give both,
            positive and negative, or none.
        negative: Sectors to take for σ₋, (l, n). None takes that of eq. 14.
        tolerance: The largest cosine taken as 0 where σ_i is 0, from 0 to below 1. None takes d · eps.

    >>> W, a = torch.tensor([[1.0, 0.0], [0.1, -1.0], [-1.0, 1.0], [1.0, 0.0]]), torch.tensor([1.0, -1.0, 1.0, -1.0])
    >>> found = neuron_sectors(W, a, torch.tensor([[1.0, 0.0], [0.0, -1.0]]), torch.tensor([1.0, -1.0]))
    >>> [Place(code).name for code in found.code.tolist()], found.counts.tolist()
    (['POSITIVE', 'UNDECIDED', 'OFF', 'UNDECIDED'], [1, 1, 0, 2])
    """
    W, a, X = tensors(W=W, a=a, points=X)
    y = signs(X, y)
    check_width(W, X)
    check_units(W, a)
    if (positive is None) != (negative is None):
        raise UserError("sectors of one sign were given: give both, positive and negative, or none")
    at, near = sector(W, X), sector(W, X, tolerance=tolerance)
    if positive is None or negative is None:
        # −1 may stand for 0, as the docstring says
        inside = [_inside(at, near <= 0, sigma[None]) for sigma in extremal_sectors(X, y)]
    else:
        inside = [_inside(at, near == 0, sigma) for sigma in (_given(positive, X), _given(negative, X))]
    code = torch.full(a.shape, int(Place.UNDECIDED), device=a.device)
    code[inside[0] & (a > 0)] = int(Place.POSITIVE)
    code[inside[1] & (a < 0)] = int(Place.NEGATIVE)
    code[(at <= 0).all(-1)] = int(Place.OFF)
    return NeuronSectors(code, torch.nn.functional.one_hot(code, len(Place)).sum(-2))


def _given(sectors: Numbers, X: Tensor) -> Int8[Tensor, "k n"]:
    sigma = tensor("sectors", sectors).to(X.device)
    if sigma.dim() != 2 or sigma.shape[1] != len(X):
        raise UserError(f"sectors of shape {tuple(sigma.shape)} for {len(X)} points: a sector a row, a sign a point")
    return sigma.to(torch.int8)


def _inside(
    at: Int8[Tensor, "*lane p n"], zero: Bool[Tensor, "*lane p n"], sectors: Int8[Tensor, "k n"]
) -> Bool[Tensor, "*lane p"]:
    """Whether a unit's signs are those of one of the sectors; ``zero`` says which of them may pass for a 0."""
    found = torch.zeros(at.shape[:-1], dtype=torch.bool, device=at.device)
    for sigma in sectors:  # a few; all at once would cost units × points × sectors
        found |= torch.where(sigma == 0, zero, at == sigma).all(-1)
    return found
