"""Transfer sets: points in rows and the linear teacher that labels them, with checks of the input."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensor
from relulab.core.short_repr import short_repr

LINEAR = 1e-6  # largest misfit of labels to a linear teacher, relative to the largest logit
DIGITS = range(4, 10)  # numbers of decimal digits that labels may be rounded to


class Transfer(NamedTuple):
    """Points x_i in rows, or many sets of them, and the teacher w*. T5 has the points in columns."""

    X: Float64[Tensor, "*sets n d"]
    w_star: Float64[Tensor, " d"]

    __repr__ = short_repr


def transfer(X: Numbers, w_star: Numbers) -> Transfer:
    """Check points and a teacher and convert them to float64.

    All numbers must be finite, there must be at least one point, and the teacher must not be zero.

    Args:
        X: Points, (n, d), one point per row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), or a matrix with one row or one column.

    >>> transfer([[1.0, 2.0]], [1.0, 0.0]).X.shape
    torch.Size([1, 2])
    """
    X, w_star = points(X), numbers(w_star, "the teacher")
    if w_star.numel() != max(w_star.shape, default=0):
        raise UserError(f"expected a teacher with {X.shape[-1]} weights, got shape {tuple(w_star.shape)}")
    w_star = w_star.reshape(-1)
    if len(w_star) != X.shape[-1]:
        raise UserError(
            f"the teacher has {len(w_star)} weights, but points have {X.shape[-1]} columns: make them equal"
        )
    if not w_star.any():
        raise UserError(
            "the teacher is zero, so all soft labels are ½ and nothing can be learned: give another teacher"
        )
    return Transfer(X, w_star)


def near_one(given: Transfer) -> tuple[Transfer, float]:
    """Return the same problem with points of a size near 1, and the power of two that points were divided by.

    Weights are multiplied by it. Squares of very short points and very long weights would under- and overflow.

    Args:
        given: Points and teacher.

    >>> given, s = near_one(transfer([[3e-200, 0.0]], [1e200, 1.0]))
    >>> 0.7 < float(given.X[0, 0]) < 1.5, s < 1e-199, bool(given.w_star.isfinite().all())
    (True, True, True)
    """
    largest = float(given.X.abs().max())
    s = 2.0 ** round(math.log2(largest)) if largest else 1.0
    scaled = Transfer(given.X / s, given.w_star * s)
    return (scaled, s) if scaled.X.isfinite().all() and scaled.w_star.isfinite().all() else (given, 1.0)


def points(X: Numbers) -> Float64[Tensor, "*sets n d"]:
    """Check points, (…, n, d), and convert them to float64."""
    X = numbers(X, "points")
    if X.dim() < 2:
        raise UserError(f"expected a matrix of points, (n, d), got shape {tuple(X.shape)}")
    if not X.shape[-2]:
        raise UserError("expected at least one point, got n = 0")
    if not X.shape[-1]:
        raise UserError("expected points with at least one column, got d = 0")
    return X


def soft_labels(X: Float64[Tensor, "*sets n d"], w: Float64[Tensor, " d"]) -> Float64[Tensor, "*sets n"]:
    """The soft labels y_i = σ(wᵀx_i) of a teacher w.

    Args:
        X: Points, (n, d), one point per row, or (…, n, d) for many sets, in float64.
        w: The teacher, (d,), in float64.

    >>> soft_labels(torch.zeros(2, 3).double(), torch.ones(3).double()).tolist()
    [0.5, 0.5]
    """
    return torch.sigmoid(X @ w)


@by_cpu
def from_labels(X: Numbers, y: Numbers) -> Transfer:
    """Compute the linear teacher from points and their soft labels.

    The logits log(y_i/(1 − y_i)) equal w*ᵀx_i. They determine the projection of w* onto the span of the points, the
    shortest w with these logits and all that a student can learn. If no linear teacher gives the labels, an error
    is raised. Labels may be rounded to single precision or to a fixed number of decimal digits.

    Args:
        X: Points, (n, d), one point per row.
        y: Their soft labels, (n,), between 0 and 1.

    >>> from_labels([[1.0, 0.0], [0.0, 2.0]], [0.5, torch.sigmoid(torch.tensor(1.0)).item()]).w_star.tolist()[1] > 0.49
    True
    """
    X, y = points(X), numbers(y, "labels")
    if X.dim() != 2 or y.shape != (len(X),):
        raise UserError(f"expected one label per point, got labels {tuple(y.shape)} for points {tuple(X.shape)}")
    outside = ((y <= 0) | (y >= 1)).nonzero()[:, 0]
    if len(outside):
        raise UserError(
            f"expected soft labels above 0 and below 1, but {len(outside)} of {len(y)} labels are outside (0, 1); the "
            f"first is {float(y[outside[0]]):g} in row {int(outside[0])}"
        )
    z = torch.logit(y)
    rounded = _rounding(y) / (y * (1 - y))  # labels near 0 or 1 determine their logits less precisely
    trust = (rounded.min() / rounded).clamp(min=1e-6)
    largest = X.abs().max().clamp(min=torch.finfo(X.dtype).tiny)
    w = torch.linalg.lstsq(trust[:, None] * (X / largest), trust * z, driver="gelsd").solution
    misfit = ((X / largest) @ w - z).abs()
    wrong = ~(misfit <= LINEAR * z.abs().max().clamp(min=1) + 4 * rounded)
    if wrong.any():
        raise UserError(
            f"no linear teacher gives these labels: the best fit misses a logit by {float(misfit[wrong].max()):.2g}. "
            "Add a column of ones for a teacher with a bias, and give labels with at least four decimal digits"
        )
    return transfer(X, w / largest)


def _rounding(y: Float64[Tensor, " n"]) -> Float64[Tensor, " n"]:
    """The rounding error of labels: half a unit of the last decimal digit, or machine precision."""
    for digits in DIGITS:
        if torch.equal(y.round(decimals=digits), y):
            return torch.full_like(y, 0.5 * 10.0**-digits)
    single = torch.equal(y.float().double(), y)
    return y * torch.finfo(torch.float32 if single else torch.float64).eps


def numbers(given: Numbers, what: str) -> Float64[Tensor, "..."]:
    """Convert to a float64 tensor of finite numbers.

    Args:
        given: The numbers.
        what: Their name in error messages.
    """
    values = tensor(what, given).detach().double()
    wrong = int((~values.isfinite()).sum())
    if wrong:
        raise UserError(f"{wrong} of {values.numel()} entries of {what} are NaN or infinite: remove or replace them")
    return values
