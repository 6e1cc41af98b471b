"""The span of the points, which contains every student, for points of any rank (T5 eq. D.3 and lemma D.1)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from relulab.core.angle import unit_rows


class Span(NamedTuple):
    """Orthonormal rows V. The rows marked ``kept`` are a basis of the span of the points; the others are rounding."""

    V: Float64[Tensor, "*sets k d"]
    kept: Bool[Tensor, "*sets k"]

    @property
    def rank(self) -> Int64[Tensor, "*sets"]:
        return self.kept.sum(-1)

    def projected(self, w: Float64[Tensor, "*vectors d"]) -> Float64[Tensor, "*projections d"]:
        """The projection P_X w of w onto the span; if the points span R^d, w itself without rounding."""
        inside = (((self.V @ w[..., None])[..., 0] * self.kept)[..., None, :] @ self.V)[..., 0, :]
        return torch.where(self.rank[..., None] == self.V.shape[-1], w, inside)


def span(X: Float64[Tensor, "*sets n d"]) -> Span:
    """Compute the span of points from the singular vectors of the unit rows x_i/‖x_i‖.

    Singular vectors are kept if their singular value is above max(n, d) · eps times the largest one.

    Args:
        X: Points, (…, n, d), one point per row.

    >>> span(torch.tensor([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]).double()).rank.item()
    1
    """
    _, s, V = torch.linalg.svd(unit_rows(X), full_matrices=False)
    return Span(V, s > max(X.shape[-2:]) * torch.finfo(s.dtype).eps * s[..., :1])
