"""Sectors of weight space, the function G on them, and the two extremal sectors of orthogonally separable data.

A unit with weights w is active on some training points and inactive on the others. All w with the same signs of wᵀx_i
form a sector (IB definition 1, eq. 11). While a balanced network is small, the direction of each of its units moves on
the unit sphere by gradient ascent (second-layer weight a > 0) or descent (a < 0) on the function G of eq. 12, which is
linear on every sector.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int8, Num
from torch import Tensor

from relulab.core.angle import unit_rows
from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensor, tensors
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument


class Sectors(NamedTuple):
    """Sign sequences of the positive and of the negative extremal sector, with entries −1, 0 and 1."""

    positive: Int8[Tensor, " n"]
    negative: Int8[Tensor, " n"]

    __repr__ = short_repr


@instrument(source="IB eq. 12", ids=("IB.G",))
def sector_gain(
    W: Num[Tensor, "*lane d"] | Numbers, X: Num[Tensor, "n d"] | Numbers, y: Numbers
) -> Float[Tensor, "*lane"]:
    r"""Compute G(w) = ½ Σ_i y_i ρ(wᵀx_i)/‖w‖ for every row w of W.

    This is eq. 12 for the cross-entropy ℓ_i(u) = log(1 + exp(−y_i u)), whose derivative at 0 is ℓ'_i(0) = −y_i/2. Small
    units with a > 0 climb G and those with a < 0 descend it. The rows are normalized here, so their lengths do not
    matter.

    Args:
        W: Weights, (…, d), one row per unit; no row may be zero.
        X: Points, (n, d), one row per point.
        y: Labels −1 and 1, (n,).

    >>> X = torch.tensor([[2.0, 0.0], [0.0, -4.0]])
    >>> sector_gain(torch.tensor([[3.0, 0.0], [0.0, -1.0], [-1.0, 1.0]]), X, torch.tensor([1.0, -1.0])).tolist()
    [1.0, -2.0, 0.0]
    """
    W, X = tensors(weights=W, points=X)
    y = signs(X, y)
    check_width(W, X)
    unit = unit_rows(W)
    if not (unit.abs().amax(-1) > 0).all():
        raise UserError(
            f"{int((~(unit.abs().amax(-1) > 0)).sum())} rows of weights are zero or NaN and have no direction: remove "
            "these rows"
        )
    return (unit @ X.T).relu() @ y / 2


G = sector_gain  # the paper's letter


@instrument(source="IB definition 1, eq. 11", ids=("IB.G",))
def sector(
    W: Num[Tensor, "*lane d"] | Numbers, X: Num[Tensor, "n d"] | Numbers, *, tolerance: float | None = None
) -> Int8[Tensor, "*lane n"]:
    """Compute the sign sequence σ_i = sign wᵀx_i, with values −1, 0 and 1, for every row w of W.

    To allow for rounding, σ_i = 0 where |wᵀx_i| ≤ tolerance · ‖w‖‖x_i‖. The default tolerance d · eps bounds the
    rounding error of a sum of d products. For a zero row, all σ_i are 0.

    Args:
        W: Weights, (…, d), one row per unit.
        X: Points, (n, d), one row per point.
        tolerance: The largest |cosine| of w and x_i that counts as 0, in [0, 1). Default: d · eps.

    >>> sector(torch.tensor([[3.0, 0.0], [0.0, -1.0]]), torch.tensor([[2.0, 0.0], [1.0, -4.0]])).tolist()
    [[1, 1], [0, 1]]
    """
    W, X = tensors(weights=W, points=X)
    check_width(W, X)
    W, X = _near_one(W), _near_one(X)
    products, allowed = W @ X.T, rounding(X, tolerance) * W.norm(dim=-1, keepdim=True) * X.norm(dim=-1)
    return torch.where(products.abs() <= allowed, 0, products.sign()).to(torch.int8)


@instrument(source="IB lemma 2, eqs. 13 and 14", ids=("IB.G", "IB.L2"))
def extremal_sectors(X: Num[Tensor, "n d"] | Numbers, y: Numbers, *, tolerance: float | None = None) -> Sectors:
    """Compute the positive and the negative extremal sector, σ₊ and σ₋, in closed form.

    In σ₊, positive points have sign 1. A negative point x_j has sign −1 if x_jᵀx_i < 0 for some positive point x_i,
    and 0 if it is orthogonal to all positive points. In σ₋ the classes are exchanged. An inner product counts as 0 by
    the rule of ``sector``.

    The closed form is correct for orthogonally separable data. This is not checked here. For other data, use
    ``extremal_directions``.

    Args:
        X: Points, (n, d), one row per point.
        y: Labels −1 and 1, (n,).
        tolerance: The largest |cosine| of two points that counts as 0, in [0, 1). Default: d · eps.

    >>> X = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])
    >>> [sigma.tolist() for sigma in extremal_sectors(X, torch.tensor([1, 1, -1, -1]))]
    [[1, 1, 0, -1], [-1, -1, 1, 1]]
    """
    (X,) = tensors(points=X)
    y = signs(X, y)
    against = (sector(X, X, tolerance=tolerance) < 0).to(X.dtype)
    sectors = []
    for label in (1, -1):
        in_class = y == label
        sectors.append(torch.where(in_class, 1, -(against @ in_class.to(X.dtype) > 0).to(torch.int8)).to(torch.int8))
    return Sectors(*sectors)


def signs(X: Float[Tensor, "*any"], y: Numbers) -> Float[Tensor, " n"]:
    """Return the labels in the dtype of the points, after checking that there is one label, −1 or 1, per point.

    Args:
        X: Points, (n, d), one row per point.
        y: Labels −1 and 1, (n,).
    """
    y = tensor("labels", y)
    if X.dim() != 2 or y.shape != X.shape[:1]:
        raise UserError(
            "expected points of shape (n, d) with labels of shape (n,), one label per point, got points of shape "
            f"{tuple(X.shape)} and labels of shape {tuple(y.shape)}"
        )
    y = y.to(X.dtype)
    if not (y.abs() == 1).all():
        raise UserError("expected labels −1 and 1, got other values: convert them with relulab.data.labeled")
    return y


def check_width(W: Tensor, X: Tensor) -> None:
    """Check that weights and points have the same number of inputs.

    Args:
        W: Weights, (…, d).
        X: Points, (n, d).
    """
    if X.dim() != 2 or not W.dim():
        raise UserError(
            f"expected points of shape (n, d) and weights of shape (…, d), got points of shape {tuple(X.shape)} and "
            f"weights of shape {tuple(W.shape)}"
        )
    if W.shape[-1:] != X.shape[1:]:
        raise UserError(
            f"weights have {W.shape[-1]} inputs, but the points have {X.shape[1]} columns: the numbers must be equal"
        )


def check_units(W: Tensor, a: Tensor) -> None:
    """Check that every unit has first-layer weights and one second-layer weight.

    Args:
        W: First-layer weights, (…, p, d).
        a: Second-layer weights, (…, p).
    """
    if W.dim() < 2 or a.shape != W.shape[:-1]:
        raise UserError(
            "expected first-layer weights of shape (…, p, d) and second-layer weights of shape (…, p), got shapes "
            f"{tuple(W.shape)} and {tuple(a.shape)}: one row and one number per unit"
        )


def rounding(X: Float[Tensor, "n d"], tolerance: float | None = None) -> float:
    """Return the largest |cosine| that counts as 0: ``tolerance`` if given, else d · eps.

    Args:
        X: Points, (n, d).
        tolerance: A number in [0, 1), or None for d · eps.
    """
    if tolerance is None:
        return X.shape[1] * torch.finfo(X.dtype).eps
    if not 0 <= tolerance < 1:
        raise UserError(
            f"expected a tolerance in [0, 1), got tolerance {tolerance}: it is the largest |cosine| that counts as 0"
        )
    return tolerance


def _near_one(rows: Float[Tensor, "*lane d"]) -> Float[Tensor, "*lane d"]:
    """Divide each row by a power of two, which does not round, so that its products neither overflow nor underflow."""
    exponent = torch.frexp(rows.abs().amax(-1, keepdim=True)).exponent
    return torch.ldexp(rows, -exponent.clamp(min=-100 if rows.dtype == torch.float32 else -1000))
