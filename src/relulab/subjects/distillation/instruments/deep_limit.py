r"""Where a deep linear student ends, exactly (T5 theorem 5.2 bounds it; its proof gives more).

Inside the span of the points the student ends at ŵ (D.28). Its part outside keeps its direction, since the flow D.22
only scales it, and its square length q follows that of w: q(t)/q(0) = (‖w(t)‖²/‖w(0)‖²)^{(L−1)/L} (D.32). With
‖w(∞)‖² = ‖ŵ‖² + q(∞) the share e = q(∞)/‖ŵ‖² is the one root of

    e = b (1 + e)^{(L−1)/L},   b = q(0)/‖w(0)‖² · (‖w(0)‖/‖ŵ‖)^{2/L}.

(1 + e)^{(L−1)/L} ≤ 1 + e gives e ≤ b/(1 − b); with q(0) ≤ ‖w(0)‖² that is the bound D.40.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.subjects.distillation.tools.balanced_start import distance_bound, factors, product
from relulab.subjects.distillation.tools.distillation_loss import gain
from relulab.subjects.distillation.tools.span import span
from relulab.subjects.distillation.tools.transfer import Numbers, numbers, transfer

STEPS = 200  # of Newton's method, which needs a dozen


class DeepLimit(NamedTuple):
    """The limit w(∞); the length √q(∞) of its part outside the span, which is ‖w(∞) − ŵ‖; and what T5 says beforehand.

    ``bound`` is the ε of 5.11 and D.40 that ``orthogonal`` must be below, ``gain`` = ℓ₁(w(0)) − ℓ₁(0), negative where
    5.12 holds. Where it does not, the flow may end at w = 0 instead.
    """

    w: Float64[Tensor, "*sets d"]
    orthogonal: Float64[Tensor, "*sets"]
    bound: Float64[Tensor, "*sets"]
    gain: Float64[Tensor, "*sets"]


@instrument(source="T5 eqs. D.28 and D.32", ids=("T5.T2",))
def deep_limit(X: Numbers, w_star: Numbers, start: Numbers | Sequence[Numbers], depth: int) -> DeepLimit:
    """The limit of gradient flow of a student of ``depth`` L from a balanced start with the product w(0) = ``start``.

    For L = 1 the part outside the span stays what it was.

    Args:
        X: Points, (n, d), a point a row, or (…, n, d) for many sets.
        w_star: The teacher w*, (d,), not zero.
        start: w(0), (d,) for all sets or (…, d), or the factor matrices W_1, …, W_L themselves. Not zero for L > 1.
        depth: Number of layers L, at least 1; of factor matrices, their number.

    >>> found = deep_limit([[2.0, 0.0]], [1.0, 1.0], [3e-5, 4e-5], 2)
    >>> found.w.round(decimals=6).tolist(), bool(found.orthogonal < found.bound)
    ([1.0, 0.005657], True)
    """
    X, w_star = transfer(X, w_star)
    matrices = factors(start) if isinstance(start, Sequence) and len(start) and np.ndim(start[0]) == 2 else None
    if matrices and len(matrices) != depth:
        raise UserError(f"depth {depth} with {len(matrices)} factor matrices: make them agree")
    w_0 = product(matrices) if matrices else numbers(start, "the start")
    if w_0.shape not in ((X.shape[-1],), (*X.shape[:-2], X.shape[-1])):
        raise UserError(
            f"a start of shape {tuple(w_0.shape)} for points {tuple(X.shape)}: one vector a set was expected"
        )
    w_0 = w_0.expand(*X.shape[:-2], X.shape[-1])
    length = w_0.norm(dim=-1)
    if depth < 1 or (depth > 1 and not (length > 0).all()):
        raise UserError(f"depth = {depth}: from 1 on, and a deep student must not start at zero, where it never moves")
    within = span(X)
    w_hat, outside = within.projected(w_star), w_0 - within.projected(w_0)
    norm, was = w_hat.norm(dim=-1), outside.norm(dim=-1)
    orthogonal = _outside(was, length, norm, depth)
    w = w_hat + outside * torch.where(was > 0, orthogonal / was, 0.0)[..., None]
    return DeepLimit(w, orthogonal, distance_bound(length, depth, norm), gain(X, w_star, w_0))


def _outside(was: Tensor, length: Tensor, norm: Tensor, depth: int) -> Float64[Tensor, "*sets"]:
    """√q(∞) of √q(0), ‖w(0)‖ and ‖ŵ‖."""
    share = torch.where(was > 0, was / length, 0.0)
    b = share**2 * (length / norm) ** (2 / depth)
    found = norm * _root(b.where(norm > 0, 1.0), 1 - 1 / depth).sqrt()
    # ŵ = 0, a teacher that no point sees, leaves q(∞) = q(0) (q(∞)/‖w(0)‖²)^{(L−1)/L}
    return torch.where(norm > 0, found, length * share**depth)


def _root(b: Float64[Tensor, "*sets"], kappa: float) -> Float64[Tensor, "*sets"]:
    """The root of e = b(1 + e)^κ, 0 ≤ κ < 1, by Newton's method from above: e − b(1 + e)^κ is convex, so it falls."""
    e = torch.expm1(torch.log1p(b) / (1 - kappa))  # (1 + b)^L is above 1 + e
    e = torch.where(b < 0.5, b / (1 - b), e)
    for _ in range(STEPS):
        power = b * (1 + e) ** kappa
        then = (e - (e - power) / (1 - kappa * power / (1 + e))).clamp(min=0)
        if not (then < e).any():
            break
        e = torch.minimum(then, e)
    return e
