"""A transfer set: points in rows and the linear teacher that labels them, checked before anything is computed."""

from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensor

LINEAR = 1e-6  # how far labels may be from those of a linear teacher, in units of the largest logit
DIGITS = range(4, 10)  # after the point, with which labels count as rounded


class Transfer(NamedTuple):
    """Points x_i in rows, or many sets of them, and the teacher w*. T5 writes X with a point a column."""

    X: Float64[Tensor, "*sets n d"]
    w_star: Float64[Tensor, " d"]


def transfer(X: Numbers, w_star: Numbers) -> Transfer:
    """Points and a teacher that fit together: finite, at least one point, a teacher that is not zero; in float64.

    Args:
        X: Points, (n, d), a point a row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), or a matrix of one row or column.

    >>> transfer([[1.0, 2.0]], [1.0, 0.0]).X.shape
    torch.Size([1, 2])
    """
    X, w_star = points(X), numbers(w_star, "the teacher")
    if w_star.numel() != max(w_star.shape, default=0):
        raise UserError(f"a teacher of shape {tuple(w_star.shape)}: one vector of {X.shape[-1]} weights was expected")
    w_star = w_star.reshape(-1)
    if len(w_star) != X.shape[-1]:
        raise UserError(
            f"the teacher has {len(w_star)} weights and points have {X.shape[-1]} columns: as many are needed of both"
        )
    if not w_star.any():
        raise UserError("the teacher is zero: it tells nothing about any point, so nothing can be learned from it")
    return Transfer(X, w_star)


def points(X: Numbers) -> Float64[Tensor, "*sets n d"]:
    """Points in rows, of one set or of many."""
    X = numbers(X, "points")
    if X.dim() < 2:
        raise UserError(f"points of shape {tuple(X.shape)}: a matrix was expected, one point a row")
    if not X.shape[-2]:
        raise UserError("there are no points (n = 0): a student needs one at least")
    if not X.shape[-1]:
        raise UserError("points have no columns (d = 0)")
    return X


def directions(X: Float64[Tensor, "*sets n d"]) -> Float64[Tensor, "*sets n d"]:
    """The points, each of length one; zero stays zero.

    >>> directions(torch.tensor([[3e200, 4e200]], dtype=torch.float64)).tolist()
    [[0.6, 0.8]]
    """
    size = X.abs().amax(-1, keepdim=True)
    X = X / torch.where(size > 0, size, 1.0)  # first, since squares of 1e200 are infinite
    return X / X.norm(dim=-1, keepdim=True).clamp(min=1.0)  # the largest entry is 1 now, or 0


def soft_labels(X: Float64[Tensor, "*sets n d"], w: Float64[Tensor, " d"]) -> Float64[Tensor, "*sets n"]:
    """y_i = σ(wᵀx_i), what the teacher tells the student.

    Args:
        X: Points, (n, d), a point a row, or (…, n, d) for many sets, in float64.
        w: The teacher, (d,), in float64.

    >>> soft_labels(torch.zeros(2, 3).double(), torch.ones(3).double()).tolist()
    [0.5, 0.5]
    """
    return torch.sigmoid(X @ w)


@by_cpu
def from_labels(X: Numbers, y: Numbers) -> Transfer:
    """The transfer set of points whose soft labels are known and whose teacher is not.

    The logits log(y_i/(1 − y_i)) are w*ᵀx_i. Of w* they tell its projection on the span of the points, the shortest
    w with these logits, which is all that a student can learn. Labels that no linear teacher gives are refused; they
    may be as far off as single precision, or a number of decimal digits that is the same for all, makes them.

    Args:
        X: Points, (n, d), a point a row.
        y: Their soft labels, (n,), between 0 and 1.

    >>> from_labels([[1.0, 0.0], [0.0, 2.0]], [0.5, torch.sigmoid(torch.tensor(1.0)).item()]).w_star.tolist()[1] > 0.49
    True
    """
    X, y = points(X), numbers(y, "labels")
    if X.dim() != 2 or y.shape != (len(X),):
        raise UserError(f"labels of shape {tuple(y.shape)} for points of shape {tuple(X.shape)}: one label a point")
    outside = ((y <= 0) | (y >= 1)).nonzero()[:, 0]
    if len(outside):
        raise UserError(
            f"{len(outside)} of {len(y)} labels lie outside (0, 1), the first is {float(y[outside[0]]):g} of point "
            f"{int(outside[0])}: soft labels are probabilities σ(wᵀx), neither 0 nor 1"
        )
    z = torch.logit(y)
    rounded = _rounding(y) / (y * (1 - y))  # a label near 0 or 1 tells its logit less exactly
    trust = (rounded.min() / rounded).clamp(min=1e-6)
    largest = X.abs().max().clamp(min=torch.finfo(X.dtype).tiny)
    w = torch.linalg.lstsq(trust[:, None] * (X / largest), trust * z, driver="gelsd").solution
    misfit = ((X / largest) @ w - z).abs()
    wrong = ~(misfit <= LINEAR * z.abs().max().clamp(min=1) + 4 * rounded)
    if wrong.any():
        raise UserError(
            f"no linear teacher gives these labels: the best one misses a logit by {float(misfit[wrong].max()):.2g}. A "
            "teacher with a bias needs a column of ones, and labels at least four decimal digits"
        )
    return transfer(X, w / largest)


def _rounding(y: Float64[Tensor, " n"]) -> Float64[Tensor, " n"]:
    """By how much labels may be off: half a unit in the last of the digits that all of them are given with."""
    for digits in DIGITS:
        if torch.equal(y.round(decimals=digits), y):
            return torch.full_like(y, 0.5 * 10.0**-digits)
    single = torch.equal(y.float().double(), y)
    return y * torch.finfo(torch.float32 if single else torch.float64).eps


def numbers(given: Numbers, what: str) -> Float64[Tensor, "..."]:
    """Anything that is a table of finite numbers, in float64."""
    found = tensor(what, given).detach().double()
    wrong = int((~found.isfinite()).sum())
    if wrong:
        raise UserError(f"{wrong} of {found.numel()} entries of {what} are NaN or infinite: remove or replace them")
    return found
