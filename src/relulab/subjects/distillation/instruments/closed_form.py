"""What a student learns from soft labels: the projection of the teacher on the span of the points (T5 eq. 5.6)."""

from typing import NamedTuple

from jaxtyping import Float64, Int64
from torch import Tensor

from relulab.lab.instrument import instrument
from relulab.subjects.distillation.tools.span import span
from relulab.subjects.distillation.tools.transfer import Numbers, transfer


class Distilled(NamedTuple):
    """ŵ, and the rank of the points: ŵ is w* when it is d; below min(n, d) some points tell what others told."""

    w: Float64[Tensor, "*sets d"]
    rank: Int64[Tensor, "*sets"]


@instrument(source="T5 eq. 5.6", ids=("T5.T1",))
def distilled(X: Numbers, w_star: Numbers) -> Distilled:
    """The weights ŵ that a linear student of the teacher w* ends with: w* projected on the span of its points.

    T5 eq. 5.6 has w* for n ≥ d and X(XᵀX)⁻¹Xᵀw* for n < d, points in columns and of full rank. Here points are rows and
    of any rank: with the singular vectors v_k of the unit rows x_i/‖x_i‖, ŵ = Σ_k v_k v_kᵀ w*, over singular values
    above max(n, d) · eps of the largest, as the pseudo-inverse has it.

    Args:
        X: Points, (n, d), a point a row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), not zero.

    >>> distilled([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [3.0, 4.0, 5.0]).w.round(decimals=12).tolist()
    [3.0, 4.0, 0.0]
    """
    X, w_star = transfer(X, w_star)
    found = span(X)
    return Distilled(found.projected(w_star), found.rank)
