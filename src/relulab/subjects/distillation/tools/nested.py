"""Students of nested transfer sets x₁; x₁, x₂; …, all from one orthonormal basis (T5 eqs. 5.25, 5.26)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from relulab.core.angle import unit_rows
from relulab.core.short_repr import short_repr
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

DEPENDENT = 1e-10  # a point is dependent if no larger share of its norm is orthogonal to the points before it
BLOCK = 32  # number of points that are orthogonalized together


class Nested(NamedTuple):
    """An orthonormal basis Q of growing sets of points, and the coefficients of w* in it.

    Row k of ``Q`` is the direction that point k adds to the span of the points before it; it is zero if there is none.
    """

    Q: Float64[Tensor, "*sets n d"]
    coefficients: Float64[Tensor, "*sets n"]
    w_star: Float64[Tensor, " d"]

    __repr__ = short_repr

    @property
    def new(self) -> Bool[Tensor, "*sets n"]:
        """True for points that are linearly independent of the points before them."""
        return self.Q.any(-1)

    def angles(self) -> Float64[Tensor, "*sets n"]:
        """The angles ᾱ(w*, ŵ_k) = arctan(‖w* − ŵ_k‖/‖ŵ_k‖) of the students of k = 1, …, n points; π/2 while ŵ_k = 0.

        They never increase (lemma 5.1).
        """
        scale = self.w_star.abs().max()  # avoids overflow of the squares
        length = (self.coefficients / scale).square().cumsum(-1)
        left = ((self.w_star / scale).square().sum() - length).clamp(min=0)
        # Near the teacher, the difference of squares is only rounding, so the rest is computed directly.
        close = left < 1e-6 * length
        if close.any():
            rest = (self.w_star - self.students()) / scale
            left = torch.where(close, rest.square().sum(-1), left)
        # With d independent points, the student is the teacher.
        left = torch.where(self.new.cumsum(-1) == self.Q.shape[-1], 0.0, left)
        return torch.atan2(left.sqrt(), length.sqrt())

    def students(self) -> Float64[Tensor, "*sets n d"]:
        """The students ŵ_k of the first k points, for k = 1, …, n."""
        return (self.coefficients[..., None] * self.Q).cumsum(-2)


def nested_students(X: Numbers, w_star: Numbers) -> Nested:
    """Compute the students of the first k points of X for every k from 1 to n, at about the cost of one student.

    A QR factorization orthogonalizes each point against the points before it. If less than 10⁻¹⁰ of a point remains,
    it counts as dependent and adds nothing.

    Args:
        X: Points, (n, d), one point per row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), not zero.

    >>> nested_students([[2.0, 0.0], [4.0, 0.0], [1.0, 1.0]], [1.0, 1.0]).students().tolist()
    [[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    """
    X, w_star = transfer(X, w_star)
    X = unit_rows(X)
    n, d = X.shape[-2:]
    first, R = torch.linalg.qr(X[..., : min(n, d), :].mT)
    Q = torch.zeros_like(X)
    Q[..., : min(n, d), :] = first.mT
    # The Householder Q has an arbitrary direction for a dependent point, so such sets are handled separately.
    dependent = (R.diagonal(dim1=-2, dim2=-1).abs() <= DEPENDENT).any(-1)
    if dependent.any():
        Q[dependent] = _block_by_block(X[dependent])
    return Nested(Q, Q @ w_star, w_star)


def _block_by_block(X: Float64[Tensor, "sets n d"]) -> Float64[Tensor, "sets n d"]:
    """Gram–Schmidt orthogonalization of unit rows in blocks: within a block and against earlier blocks, both twice."""
    Q = torch.zeros_like(X)
    for start in range(0, X.shape[-2], BLOCK):
        x, before = X[..., start : start + BLOCK, :], Q[..., :start, :]
        for _ in range(2):  # the second pass removes rounding errors, which division by a small norm has amplified
            x = _point_by_point(x - (x @ before.mT) @ before)
        Q[..., start : start + BLOCK, :] = x
    return Q


def _point_by_point(X: Float64[Tensor, "sets n d"]) -> Float64[Tensor, "sets n d"]:
    """Gram–Schmidt orthogonalization, twice per point; rows with less than 10⁻¹⁰ left become zero."""
    Q = torch.zeros_like(X)
    for k in range(X.shape[-2]):
        x, before = X[..., k, :, None], Q[..., :k, :]
        for _ in range(2):
            x = x - before.mT @ (before @ x)
        size = x.norm(dim=-2, keepdim=True)
        Q[..., k, :] = torch.where(size > DEPENDENT, x / size.clamp(min=DEPENDENT), 0.0)[..., 0]
    return Q
