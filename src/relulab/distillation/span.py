"""The span of the points, all that a student can learn in, for points of any rank (T5 eq. D.3 and lemma D.1)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from relulab.distillation.transfer import directions


class Span(NamedTuple):
    """X = U diag(s) V with orthonormal rows of V; those with ``kept`` span the points, the others are rounding."""

    U: Float64[Tensor, "*sets n k"]
    s: Float64[Tensor, "*sets k"]
    V: Float64[Tensor, "*sets k d"]
    kept: Bool[Tensor, "*sets k"]
    rank: Int64[Tensor, "*sets"]


def span(X: Float64[Tensor, "*sets n d"]) -> Span:
    """The singular vectors of X, kept where their value is above max(n, d) · eps of the largest.

    What points span does not depend on their lengths: to find it, give them as ``directions``.

    >>> span(torch.tensor([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]).double()).rank.item()
    1
    """
    U, s, V = torch.linalg.svd(X, full_matrices=False)
    kept = s > max(X.shape[-2:]) * torch.finfo(s.dtype).eps * s[..., :1]
    return Span(U, s, V, kept, kept.sum(-1))


def projected(X: Float64[Tensor, "*sets n d"], w: Float64[Tensor, "*#sets d"]) -> Float64[Tensor, "*sets d"]:
    """P_X w, the part of w in the span; on all of R^d that is w itself, without rounding."""
    found = span(directions(X))
    inside = (((found.V @ w[..., None])[..., 0] * found.kept)[..., None, :] @ found.V)[..., 0, :]
    return torch.where(found.rank[..., None] == X.shape[-1], w, inside)
