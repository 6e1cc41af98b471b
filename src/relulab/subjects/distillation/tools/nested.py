"""The students of growing transfer sets x₁; x₁, x₂; …, all from one orthonormal basis (T5 eqs. 5.25, 5.26)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from relulab.subjects.distillation.tools.transfer import Numbers, directions, transfer

DEPENDENT = 1e-10  # what must be left of a point, of its norm, once its predecessors are taken out of it
BLOCK = 32  # points whose predecessors are taken out of them together


class Nested(NamedTuple):
    """An orthonormal basis, row k what point k adds to its predecessors (zero, if nothing), and w* in it."""

    Q: Float64[Tensor, "*sets n d"]
    coefficients: Float64[Tensor, "*sets n"]
    w_star: Float64[Tensor, " d"]

    @property
    def new(self) -> Bool[Tensor, "*sets n"]:
        """Which points are no combination of those before them."""
        return self.Q.any(-1)

    def angles(self) -> Float64[Tensor, "*sets n"]:
        """ᾱ(w*, ŵ_k) of the students of 1, 2, …, n points: arctan of ‖w* − ŵ_k‖/‖ŵ_k‖; π/2 while ŵ_k = 0.

        Which never rises is lemma 5.1: what is left of w* is what no point has taken.
        """
        scale = self.w_star.abs().max()  # squares of a teacher of size 1e200 are infinite
        length = (self.coefficients / scale).square().cumsum(-1)
        left = ((self.w_star / scale).square().sum() - length).clamp(min=0)
        # near the teacher the difference of squares is rounding: there the rest itself is measured
        close = left < 1e-6 * length
        if close.any():
            rest = (self.w_star - self.students()) / scale
            left = torch.where(close, rest.square().sum(-1), left)
        # d points that add something each span everything, and the student is the teacher
        left = torch.where(self.new.cumsum(-1) == self.Q.shape[-1], 0.0, left)
        return torch.atan2(left.sqrt(), length.sqrt())

    def students(self) -> Float64[Tensor, "*sets n d"]:
        """ŵ_k for k = 1, …, n."""
        return (self.coefficients[..., None] * self.Q).cumsum(-2)


def nested_students(X: Numbers, w_star: Numbers) -> Nested:
    """The students of the first k points of X, for every k from 1 to n, at about the cost of the last one.

    A QR factorization takes out of each point what its predecessors have. A point of which less than 1e-10 is left lies
    in their span and adds nothing.

    Args:
        X: Points, (n, d), a point a row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), not zero.

    >>> nested_students([[2.0, 0.0], [4.0, 0.0], [1.0, 1.0]], [1.0, 1.0]).students().tolist()
    [[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    """
    X, w_star = transfer(X, w_star)
    X = directions(X)
    n, d = X.shape[-2:]
    first, R = torch.linalg.qr(X[..., : min(n, d), :].mT)
    Q = torch.zeros_like(X)
    Q[..., : min(n, d), :] = first.mT
    # Householder's Q has a direction of its own even for a point that adds none, so such sets are done otherwise
    dependent = (R.diagonal(dim1=-2, dim2=-1).abs() <= DEPENDENT).any(-1)
    if dependent.any():
        Q[dependent] = _block_by_block(X[dependent])
    return Nested(Q, Q @ w_star, w_star)


def _block_by_block(X: Float64[Tensor, "sets n d"]) -> Float64[Tensor, "sets n d"]:
    """Gram and Schmidt's procedure for unit rows: a block among itself, and against its predecessors, both twice."""
    Q = torch.zeros_like(X)
    for start in range(0, X.shape[-2], BLOCK):
        x, before = X[..., start : start + BLOCK, :], Q[..., :start, :]
        for _ in range(2):  # the second time for rounding, which dividing by a small rest has made large
            x = _point_by_point(x - (x @ before.mT) @ before)
        Q[..., start : start + BLOCK, :] = x
    return Q


def _point_by_point(X: Float64[Tensor, "sets n d"]) -> Float64[Tensor, "sets n d"]:
    """Gram and Schmidt's procedure, twice a point; rows that have less than 1e-10 left become zero."""
    Q = torch.zeros_like(X)
    for k in range(X.shape[-2]):
        x, before = X[..., k, :, None], Q[..., :k, :]
        for _ in range(2):
            x = x - before.mT @ (before @ x)
        size = x.norm(dim=-2, keepdim=True)
        Q[..., k, :] = torch.where(size > DEPENDENT, x / size.clamp(min=DEPENDENT), 0.0)[..., 0]
    return Q
