"""The span of the points, all that a student can learn in, for points of any rank (T5 eq. D.3 and lemma D.1)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from relulab.subjects.distillation.tools.transfer import directions


class Span(NamedTuple):
    """Orthonormal rows V; those with ``kept`` span the points, the others are rounding."""

    V: Float64[Tensor, "*sets k d"]
    kept: Bool[Tensor, "*sets k"]

    @property
    def rank(self) -> Int64[Tensor, "*sets"]:
        return self.kept.sum(-1)

    def projected(self, w: Float64[Tensor, "*vectors d"]) -> Float64[Tensor, "*projections d"]:
        """P_X w, the part of w in the span; on all of R^d that is w itself, without rounding."""
        inside = (((self.V @ w[..., None])[..., 0] * self.kept)[..., None, :] @ self.V)[..., 0, :]
        return torch.where(self.rank[..., None] == self.V.shape[-1], w, inside)


def span(X: Float64[Tensor, "*sets n d"]) -> Span:
    """The singular vectors of the unit rows x_i/‖x_i‖, as what points span does not depend on their lengths.

    Kept are those whose value is above max(n, d) · eps of the largest.

    >>> span(torch.tensor([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]).double()).rank.item()
    1
    """
    _, s, V = torch.linalg.svd(directions(X), full_matrices=False)
    return Span(V, s > max(X.shape[-2:]) * torch.finfo(s.dtype).eps * s[..., :1])
