r"""Small balanced starts of deep linear students, w(0)ᵀ = W_L ⋯ W_1 (T5 theorem 5.2, eqs. 5.11 to 5.13).

A start is balanced if W_{l+1}ᵀ W_{l+1} = W_l W_lᵀ for l = 1, …, L − 1 (5.13). W_L is one row, so W_Lᵀ W_L has rank one.
Then W_{L−1} has rank one, and so on down to W_1. So with one output, every balanced start other than zero is

    W_l = ‖w(0)‖^{1/L} u_l u_{l−1}ᵀ,   ‖u_l‖ = 1,   u_L = 1,   u_0 = w(0)/‖w(0)‖,

for any widths of the layers. Gradient flow preserves this: all layers share one singular value, and only u_0 turns.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import generator
from relulab.subjects.distillation.tools.distillation_loss import gain
from relulab.subjects.distillation.tools.transfer import Numbers, numbers, transfer

Factors = list[Float64[Tensor, "_ _"]]  # W_1, …, W_L, each (rows, columns)


def balanced_start(
    X: Numbers,
    w_star: Numbers,
    rng: np.random.Generator | int,
    *,
    depth: int,
    norm: float,
    widths: int | Sequence[int] = 10,
) -> Factors:
    """Draw a random balanced start W_1, …, W_L with ‖w(0)‖ = ``norm`` and a smaller loss than w = 0 (5.12).

    Of w(0) and −w(0), the one with the smaller loss is used. Near zero, one of the two has a loss below ℓ₁(0); if
    ``norm`` is too large for that, an error is raised.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        rng: Random generator or seed for the directions.
        depth: Number of layers L.
        norm: The length ‖w(0)‖, above 0.
        widths: Widths of the L − 1 hidden layers, or one number for all of them.

    >>> start = balanced_start(np.eye(3), [1.0, 2.0, 3.0], np.random.default_rng(0), depth=3, norm=1e-6, widths=4)
    >>> [tuple(W.shape) for W in start], imbalance(start) < 1e-15
    ([(4, 3), (4, 4), (1, 4)], True)
    """
    X, w_star = transfer(X, w_star)
    if X.dim() != 2:
        raise UserError(f"expected one set of points, (n, d), got shape {tuple(X.shape)}: make one start per set")
    if not 0 < norm < math.inf:
        raise UserError(f"expected a positive norm of w(0), got {norm}: at zero, a deep student never moves")
    rng = generator(rng)
    w = _direction(rng, X.shape[1]) * norm
    if gain(X, w_star, w) > gain(X, w_star, -w):
        w = -w
    if not gain(X, w_star, w) < 0:
        raise UserError(
            f"neither w(0) nor −w(0) with ‖w(0)‖ = {norm:g} has a smaller loss than w = 0 (5.12): use a smaller norm"
        )
    return balanced_factors(w, rng, depth=depth, widths=widths)


def balanced_factors(
    w: Float64[Tensor, " d"], rng: np.random.Generator, *, depth: int, widths: int | Sequence[int] = 10
) -> Factors:
    """Draw balanced matrices W_1, …, W_L with the product wᵀ and random hidden directions u_l.

    Args:
        w: The product, (d,), not zero.
        rng: Random generator for the hidden directions.
        depth: Number of layers L, at least 1.
        widths: Widths of the L − 1 hidden layers, or one number for all of them.

    >>> W = balanced_factors(torch.tensor([3.0, 4.0]).double(), np.random.default_rng(0), depth=3, widths=5)
    >>> [tuple(W_l.shape) for W_l in W], product(W).round(decimals=12).tolist()
    ([(5, 2), (5, 5), (1, 5)], [3.0, 4.0])
    """
    if depth < 1 or not w.norm() > 0:
        raise UserError(f"expected depth ≥ 1 and w other than zero, got depth = {depth} and ‖w‖ = {float(w.norm()):g}")
    hidden = [widths] * (depth - 1) if isinstance(widths, int | np.integer) else list(widths)
    if len(hidden) != depth - 1 or min(hidden, default=1) < 1:
        raise UserError(f"expected {depth - 1} positive widths of hidden layers for depth {depth}, got widths {hidden}")
    u = [w / w.norm(), *(_direction(rng, m) for m in hidden), torch.ones(1, dtype=w.dtype)]
    size = w.norm() ** (1 / depth)
    return [size * torch.outer(u[l + 1], u[l]) for l in range(depth)]


def factors(start: Sequence[Numbers]) -> Factors:
    """Convert matrices to float64 and check that their product W_L ⋯ W_1 is one row of weights."""
    matrices = [numbers(W, f"W_{l}") for l, W in enumerate(start, 1)]
    shapes = [tuple(W.shape) for W in matrices]
    fit = all(len(s) == 2 for s in shapes) and all(a[0] == b[1] for a, b in pairwise(shapes))
    if not matrices or not fit or shapes[-1][0] != 1:
        raise UserError(f"expected matrices W_1 (m_1, d), W_2 (m_2, m_1), …, W_L (1, m_{{L−1}}), got shapes {shapes}")
    return matrices


def product(start: Factors) -> Float64[Tensor, " d"]:
    """Return w = (W_L ⋯ W_1)ᵀ."""
    w = start[-1]
    for W in reversed(start[:-1]):
        w = w @ W
    return w[0]


def imbalance(start: Factors) -> float:
    """Return the largest ‖W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ‖ (5.13), relative to the largest ‖W_l‖².

    >>> imbalance([torch.tensor([[2.0], [0.0]]).double(), torch.tensor([[1.0, 0.0]]).double()])
    0.75
    """
    size = max(float(W.norm()) for W in start)
    if not size:
        return 0.0
    W = [W / size for W in start]
    return max((float((b.mT @ b - a @ a.mT).norm()) for a, b in pairwise(W)), default=0.0)


def largest_start(epsilon: float, depth: int, norm: float) -> float:
    """The right-hand side of eq. 5.11: a student whose start is shorter ends within ε of ŵ.

    The second term of the minimum, ε^L (ε²‖ŵ‖^{−2/L} + ‖ŵ‖^{2−2/L})^{−L/2}, equals ‖ŵ‖ (1 + ‖ŵ‖²/ε²)^{−L/2}. It is
    below the first term ‖ŵ‖.

    Args:
        epsilon: ε, the distance from ŵ that is allowed at the end, above 0.
        depth: Number of layers L, at least 1.
        norm: ‖ŵ‖.

    >>> largest_start(1.0, 2, 1.0)
    0.5
    """
    if not (epsilon > 0 and depth >= 1 and norm >= 0):
        raise UserError(
            f"expected epsilon > 0, depth ≥ 1 and ‖ŵ‖ ≥ 0, got epsilon = {epsilon}, depth = {depth}, ‖ŵ‖ = {norm}"
        )
    return norm * math.exp(-depth / 2 * math.log1p((norm / epsilon) ** 2))


def distance_bound(
    start: float | Float64[Tensor, "*sets"], depth: int, norm: float | Float64[Tensor, "*sets"]
) -> Float64[Tensor, "*sets"]:
    """The bound on ‖w(∞) − ŵ‖ for a start of length ‖w(0)‖: the square root of eqs. D.40 and D.41.

    With x = (‖w(0)‖/‖ŵ‖)^{2/L} it is ‖ŵ‖ √(x/(1 − x)), and infinite if ‖w(0)‖ ≥ ‖ŵ‖. It is the inverse of
    ``largest_start``.

    Args:
        start: The length ‖w(0)‖ of the start, or one per set.
        depth: Number of layers L, at least 1.
        norm: ‖ŵ‖, or one per set.

    >>> round(distance_bound(largest_start(0.25, 3, 2.0), 3, 2.0).item(), 12)
    0.25
    """
    at_least(1, depth=depth)
    start, norm = numbers(start, "the lengths of the starts"), numbers(norm, "the norms of ŵ")
    if (start < 0).any() or (norm < 0).any():
        least = f"start = {float(start.min()):g} and norm = {float(norm.min()):g}"
        raise UserError(f"expected lengths of at least 0, got {least}: a length is not negative")
    log_x = (
        2 / depth * (start / norm).log().clamp(max=0).nan_to_num(nan=0.0)
    )  # 1 − x computed from log x is accurate near x = 1
    return torch.where(log_x < 0, norm * torch.rsqrt(torch.expm1(-log_x)), torch.inf)


def _direction(rng: np.random.Generator, size: int) -> Float64[Tensor, " size"]:
    u = torch.from_numpy(rng.standard_normal(size))
    return u / u.norm()
