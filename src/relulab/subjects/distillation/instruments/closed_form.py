"""The student learned from soft labels: the teacher projected onto the span of the points (T5 eq. 5.6)."""

from typing import NamedTuple

from jaxtyping import Float64, Int64
from torch import Tensor

from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument
from relulab.subjects.distillation.tools.span import span
from relulab.subjects.distillation.tools.transfer import Numbers, transfer


class Distilled(NamedTuple):
    """ŵ and the rank of the points. If the rank is d, ŵ = w*; a rank below min(n, d) means dependent points."""

    w: Float64[Tensor, "*sets d"]
    rank: Int64[Tensor, "*sets"]

    __repr__ = short_repr


@instrument(source="T5 eq. 5.6", ids=("T5.T1",))
def distilled(X: Numbers, w_star: Numbers) -> Distilled:
    """The weights ŵ that a linear student of the teacher w* learns: w* projected onto the span of its points.

    T5 eq. 5.6 gives w* for n ≥ d and X(XᵀX)⁻¹Xᵀw* for n < d, with points in columns and of full rank. Here points are
    rows and may have any rank: ŵ = Σ_k v_k v_kᵀ w*, where v_k are the singular vectors of the unit rows x_i/‖x_i‖ with
    singular values above max(n, d) · eps times the largest one, as in the pseudo-inverse.

    Args:
        X: Points, (n, d), one point per row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), not zero.

    >>> distilled([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [3.0, 4.0, 5.0]).w.round(decimals=12).tolist()
    [3.0, 4.0, 0.0]
    """
    X, w_star = transfer(X, w_star)
    row_span = span(X)
    return Distilled(row_span.projected(w_star), row_span.rank)
