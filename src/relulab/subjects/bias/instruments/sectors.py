"""Sectors of weight space, the gain G on them, and the two extremal sectors of orthogonally separable data.

A unit with weights w is active on some training points and not on others; the w with one such pattern form a sector
(IB definition 1, eq. 11). While a network with balanced weights is small, its units move on the unit sphere as if they
climbed (second-layer weight a > 0) or descended (a < 0) the function G of eq. 12, which is linear on every sector.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int8, Num
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensor, tensors
from relulab.lab.instrument import instrument


class Sectors(NamedTuple):
    """Sign sequences of the positive and of the negative extremal sector, entries −1, 0 and 1."""

    positive: Int8[Tensor, " n"]
    negative: Int8[Tensor, " n"]


@instrument(source="IB eq. 12", ids=("IB.G",))
def sector_gain(
    W: Num[Tensor, "*lane d"] | Numbers, X: Num[Tensor, "n d"] | Numbers, y: Numbers
) -> Float[Tensor, "*lane"]:
    r"""The gain G(w) = ½ Σ_i y_i ρ(wᵀx_i)/‖w‖ of every row w of W, which a small unit climbs or descends.

    Eq. 12 with the cross-entropy ℓ_i(u) = log(1 + exp(−y_i u)), whose slope at 0 is ℓ'_i(0) = −y_i/2. Rows are
    normalized here, so their lengths do not matter.

    Args:
        W: Weights, (…, d), a unit a row; none may be zero.
        X: Points, (n, d), a point a row.
        y: Labels −1 and 1, (n,).

    >>> X = torch.tensor([[2.0, 0.0], [0.0, -4.0]])
    >>> sector_gain(torch.tensor([[3.0, 0.0], [0.0, -1.0], [-1.0, 1.0]]), X, torch.tensor([1.0, -1.0])).tolist()
    [1.0, -2.0, 0.0]
    """
    W, X = tensors(weights=W, points=X)
    y = signs(X, y)
    check_width(W, X)
    size = _norms(W)
    if not (size > 0).all():
        raise UserError(f"{int((~(size > 0)).sum())} rows of weights are zero or NaN: without direction, drop them")
    return (W / size @ X.T).relu() @ y / 2


G = sector_gain  # the paper's letter


@instrument(source="IB definition 1, eq. 11", ids=("IB.G",))
def sector(
    W: Num[Tensor, "*lane d"] | Numbers, X: Num[Tensor, "n d"] | Numbers, *, tolerance: float | None = None
) -> Int8[Tensor, "*lane n"]:
    """The sign sequence σ_i = sign wᵀx_i of every row w of W: −1, 0 or 1.

    In floating point 0 needs a rule: σ_i = 0 where |wᵀx_i| ≤ tolerance · ‖w‖‖x_i‖, by default with tolerance d · eps,
    which is what the sum of d rounded products may be off by. A zero row lies on every hyperplane.

    Args:
        W: Weights, (…, d), a unit a row.
        X: Points, (n, d), a point a row.
        tolerance: The largest cosine of w and x_i that counts as 0, from 0 to below 1. None takes d · eps.

    >>> sector(torch.tensor([[3.0, 0.0], [0.0, -1.0]]), torch.tensor([[2.0, 0.0], [1.0, -4.0]])).tolist()
    [[1, 1], [0, 1]]
    """
    W, X = tensors(weights=W, points=X)
    check_width(W, X)
    products, allowed = W @ X.T, rounding(X, tolerance) * _norms(W) * _norms(X).T
    # Products so small that they underflow to 0 do so on both sides, hence ≤.
    return torch.where(products.abs() <= allowed, 0, products.sign()).to(torch.int8)


@instrument(source="IB lemma 2, eqs. 13 and 14", ids=("IB.G", "IB.L2"))
def extremal_sectors(X: Num[Tensor, "n d"] | Numbers, y: Numbers, *, tolerance: float | None = None) -> Sectors:
    """The closed form of the positive and the negative extremal sector, σ₊ and σ₋.

    A point of the sector's own class has σ = 1. A point x_j of the other class has σ = −1 if x_jᵀx_i < 0 for some x_i
    of the class, and 0 if x_j is orthogonal to the whole class. What is 0 follows the rule of ``sector``.

    These are the extremal sectors if the data are orthogonally separable, which is not asked here: on other data they
    are two sign sequences without a meaning, and ``extremal_directions`` finds what there is.

    Args:
        X: Points, (n, d), a point a row.
        y: Labels −1 and 1, (n,).
        tolerance: The largest cosine of two points that counts as 0, from 0 to below 1. None takes d · eps.

    >>> X = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])
    >>> [sigma.tolist() for sigma in extremal_sectors(X, torch.tensor([1, 1, -1, -1]))]
    [[1, 1, 0, -1], [-1, -1, 1, 1]]
    """
    (X,) = tensors(points=X)
    y = signs(X, y)
    against = (sector(X, X, tolerance=tolerance) < 0).to(X.dtype)
    found = []
    for label in (1, -1):
        own = y == label
        found.append(torch.where(own, 1, -(against @ own.to(X.dtype) > 0).to(torch.int8)).to(torch.int8))
    return Sectors(*found)


def signs(X: Float[Tensor, "*any"], y: Numbers) -> Float[Tensor, " n"]:
    """Labels in the dtype of the points, after a look that each point has one and that it is −1 or 1."""
    y = tensor("labels", y)
    if X.dim() != 2 or y.shape != X.shape[:1]:
        raise UserError(f"points of shape {tuple(X.shape)} with labels of shape {tuple(y.shape)}: one label a row")
    y = y.to(X.dtype)
    if not (y.abs() == 1).all():
        raise UserError("labels must be −1 and 1: relulab.data.labeled makes them of any two values")
    return y


def check_width(W: Tensor, X: Tensor) -> None:
    if X.dim() != 2 or not W.dim():
        raise UserError(f"points of shape {tuple(X.shape)} and weights of shape {tuple(W.shape)}: both have rows")
    if W.shape[-1:] != X.shape[1:]:
        raise UserError(f"weights have {W.shape[-1]} inputs and the points {X.shape[1]} columns: equal numbers needed")


def check_units(W: Tensor, a: Tensor) -> None:
    if W.dim() < 2 or a.shape != W.shape[:-1]:
        raise UserError(
            f"first-layer weights of shape {tuple(W.shape)} and second-layer weights of shape {tuple(a.shape)}: a unit "
            "is a row of the first and a number of the second"
        )


def rounding(X: Float[Tensor, "n d"], tolerance: float | None = None) -> float:
    """The largest cosine that counts as 0: the one given, or d · eps."""
    if tolerance is None:
        return X.shape[1] * torch.finfo(X.dtype).eps
    if not 0 <= tolerance < 1:
        raise UserError(f"tolerance {tolerance}: the largest cosine that counts as 0, from 0 to below 1")
    return tolerance


def _norms(rows: Float[Tensor, "*lane d"]) -> Float[Tensor, "*lane 1"]:
    return rows.norm(dim=-1, keepdim=True)
