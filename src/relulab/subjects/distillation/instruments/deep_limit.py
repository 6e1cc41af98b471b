r"""The exact limit of a deep linear student (T5 theorem 5.2 only bounds it, but its proof gives more).

Inside the span of the points, the student converges to ŵ (D.28). The part outside the span keeps its direction, because
the flow D.22 only scales it. Its squared length q follows that of w: q(t)/q(0) = (‖w(t)‖²/‖w(0)‖²)^{(L−1)/L} (D.32).
With ‖w(∞)‖² = ‖ŵ‖² + q(∞), the ratio e = q(∞)/‖ŵ‖² is the only root of

    e = b (1 + e)^{(L−1)/L},   b = q(0)/‖w(0)‖² · (‖w(0)‖/‖ŵ‖)^{2/L}.

From (1 + e)^{(L−1)/L} ≤ 1 + e follows e ≤ b/(1 − b). With q(0) ≤ ‖w(0)‖² this is the bound D.40.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument
from relulab.subjects.distillation.tools.balanced_start import distance_bound, factors, product
from relulab.subjects.distillation.tools.distillation_loss import gain
from relulab.subjects.distillation.tools.span import span
from relulab.subjects.distillation.tools.transfer import Numbers, numbers, transfer

STEPS = 200  # maximum number of Newton steps; about a dozen are needed


class DeepLimit(NamedTuple):
    """The limit w(∞) of a deep student, its distance from ŵ, and the bound and condition of T5.

    ``orthogonal`` = √q(∞) = ‖w(∞) − ŵ‖ is the length of the part of ``w`` outside the span. ``bound`` is the ε of 5.11
    and D.40, an upper bound on ``orthogonal``. ``gain`` = ℓ₁(w(0)) − ℓ₁(0) is negative if condition 5.12 holds;
    otherwise the flow may end at w = 0 instead.
    """

    w: Float64[Tensor, "*sets d"]
    orthogonal: Float64[Tensor, "*sets"]
    bound: Float64[Tensor, "*sets"]
    gain: Float64[Tensor, "*sets"]

    __repr__ = short_repr


@instrument(source="T5 eqs. D.28 and D.32", ids=("T5.T2",))
def deep_limit(X: Numbers, w_star: Numbers, start: Numbers | Sequence[Numbers], depth: int) -> DeepLimit:
    """The exact limit of gradient flow for a deep linear student from a balanced start with product w(0).

    For L = 1, the part of w outside the span does not change.

    Args:
        X: Points, (n, d), one point per row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), not zero.
        start: w(0), (d,) for all sets or (…, d), or the list of factor matrices W_1, …, W_L. Not zero for L > 1.
        depth: Number of layers L, at least 1. Must equal the number of factor matrices if those are given.

    >>> limit = deep_limit([[2.0, 0.0]], [1.0, 1.0], [3e-5, 4e-5], 2)
    >>> limit.w.round(decimals=6).tolist(), bool(limit.orthogonal < limit.bound)
    ([1.0, 0.005657], True)
    """
    X, w_star = transfer(X, w_star)
    matrices = factors(start) if isinstance(start, Sequence) and len(start) and np.ndim(start[0]) == 2 else None
    if matrices and len(matrices) != depth:
        raise UserError(f"depth is {depth}, but there are {len(matrices)} factor matrices: make them agree")
    w_0 = product(matrices) if matrices else numbers(start, "the start")
    if w_0.shape not in ((X.shape[-1],), (*X.shape[:-2], X.shape[-1])):
        raise UserError(
            f"the start has shape {tuple(w_0.shape)}, but the points have shape {tuple(X.shape)}: give one vector of "
            f"{X.shape[-1]} entries, or one per set"
        )
    w_0 = w_0.expand(*X.shape[:-2], X.shape[-1])
    length = w_0.norm(dim=-1)
    if depth < 1 or (depth > 1 and not (length > 0).all()):
        raise UserError(
            f"expected depth ≥ 1, and a start other than zero for depth > 1, got depth = {depth} and ‖w(0)‖ = "
            f"{float(length.min()):g}: at zero, a deep student never moves"
        )
    within = span(X)
    w_hat, outside = within.projected(w_star), w_0 - within.projected(w_0)
    norm, start_outside = w_hat.norm(dim=-1), outside.norm(dim=-1)
    orthogonal = _outside(start_outside, length, norm, depth)
    w = w_hat + outside * torch.where(start_outside > 0, orthogonal / start_outside, 0.0)[..., None]
    return DeepLimit(w, orthogonal, distance_bound(length, depth, norm), gain(X, w_star, w_0))


def _outside(start_outside: Tensor, length: Tensor, norm: Tensor, depth: int) -> Float64[Tensor, "*sets"]:
    """Return √q(∞), given √q(0), ‖w(0)‖ and ‖ŵ‖."""
    share = torch.where(start_outside > 0, start_outside / length, 0.0)
    b = share**2 * (length / norm) ** (2 / depth)
    orthogonal = norm * _root(b.where(norm > 0, 1.0), 1 - 1 / depth).sqrt()
    # If the teacher is orthogonal to all points, ŵ = 0 and q(∞) = q(0) (q(∞)/‖w(0)‖²)^{(L−1)/L}.
    return torch.where(norm > 0, orthogonal, length * share**depth)


def _root(b: Float64[Tensor, "*sets"], kappa: float) -> Float64[Tensor, "*sets"]:
    """Solve e = b(1 + e)^κ, 0 ≤ κ < 1, by Newton's method from above; e − b(1 + e)^κ is convex, so e decreases."""
    e = torch.expm1(torch.log1p(b) / (1 - kappa))  # (1 + b)^L ≥ 1 + e
    e = torch.where(b < 0.5, b / (1 - b), e)
    for _ in range(STEPS):
        power = b * (1 + e) ** kappa
        next_e = (e - (e - power) / (1 - kappa * power / (1 + e))).clamp(min=0)
        if not (next_e < e).any():
            break
        e = torch.minimum(next_e, e)
    return e
