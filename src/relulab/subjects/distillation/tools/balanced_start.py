r"""Small starts of deep linear students, w(0)ᵀ = W_L ⋯ W_1, and how small theorem 5.2 wants them (5.11 to 5.13).

A start is balanced when W_{l+1}ᵀ W_{l+1} = W_l W_lᵀ for l = 1, …, L − 1 (5.13). W_L is one row, so W_Lᵀ W_L has rank
one, hence W_{L−1} has, and so on down: with one output every balanced start other than zero is

    W_l = ‖w(0)‖^{1/L} u_l u_{l−1}ᵀ,   ‖u_l‖ = 1,   u_L = 1,   u_0 = w(0)/‖w(0)‖,

however wide the layers are. Gradient flow keeps it so: all layers share one singular value, and only u_0 turns.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
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
    """A balanced start W_1, …, W_L with ‖w(0)‖ = ``norm`` that the loss prefers to w = 0 (5.12), in random directions.

    Of w(0) and −w(0) the one with the smaller loss is taken. T5 notes that near zero one of both is below ℓ₁(0); where
    ``norm`` is too large for that, it is refused.

    Args:
        X: Points, (n, d), a point a row.
        w_star: The teacher w*, (d,), not zero.
        rng: Where directions are drawn from: a generator, or a seed.
        depth: Number of layers L.
        norm: The length ‖w(0)‖, above 0.
        widths: Widths of the L − 1 hidden layers, or one number for all.

    >>> start = balanced_start(np.eye(3), [1.0, 2.0, 3.0], np.random.default_rng(0), depth=3, norm=1e-6, widths=4)
    >>> [tuple(W.shape) for W in start], imbalance(start) < 1e-15
    ([(4, 3), (4, 4), (1, 4)], True)
    """
    X, w_star = transfer(X, w_star)
    if X.dim() != 2:
        raise UserError(f"points of shape {tuple(X.shape)}: a start is made for one set of points at a time")
    if not 0 < norm < math.inf:
        raise UserError(f"norm = {norm}: a positive length of w(0) is needed, at zero a deep student never moves")
    rng = np.random.default_rng(rng)
    w = _direction(rng, X.shape[1]) * norm
    if gain(X, w_star, w) > gain(X, w_star, -w):
        w = -w
    if not gain(X, w_star, w) < 0:
        raise UserError(
            f"neither w(0) nor −w(0) with ‖w(0)‖ = {norm:g} has a smaller loss than w = 0 (5.12): take a smaller norm"
        )
    return balanced_factors(w, rng, depth=depth, widths=widths)


def balanced_factors(
    w: Float64[Tensor, " d"], rng: np.random.Generator, *, depth: int, widths: int | Sequence[int] = 10
) -> Factors:
    """Balanced W_1, …, W_L with the product wᵀ; hidden directions u_l are random.

    Args:
        w: The product, (d,), not zero.
        rng: Where hidden directions are drawn from.
        depth: Number of layers L, at least 1.
        widths: Widths of the L − 1 hidden layers, or one number for all.

    >>> W = balanced_factors(torch.tensor([3.0, 4.0]).double(), np.random.default_rng(0), depth=3, widths=5)
    >>> [tuple(W_l.shape) for W_l in W], product(W).round(decimals=12).tolist()
    ([(5, 2), (5, 5), (1, 5)], [3.0, 4.0])
    """
    if depth < 1 or not w.norm() > 0:
        raise UserError(f"depth = {depth} and ‖w‖ = {float(w.norm()):g}: a depth from 1 on and a w other than zero")
    hidden = [widths] * (depth - 1) if isinstance(widths, int) else list(widths)
    if len(hidden) != depth - 1 or min(hidden, default=1) < 1:
        raise UserError(
            f"widths {hidden} for depth {depth}: {depth - 1} hidden layers of at least one unit have widths"
        )
    u = [w / w.norm(), *(_direction(rng, m) for m in hidden), torch.ones(1, dtype=w.dtype)]
    size = w.norm() ** (1 / depth)
    return [size * torch.outer(u[l + 1], u[l]) for l in range(depth)]


def factors(start: Sequence[Numbers]) -> Factors:
    """Matrices that can be multiplied to one row of weights, in float64."""
    found = [numbers(W, f"W_{l}") for l, W in enumerate(start, 1)]
    shapes = [tuple(W.shape) for W in found]
    fit = all(len(s) == 2 for s in shapes) and all(a[0] == b[1] for a, b in pairwise(shapes))
    if not found or not fit or shapes[-1][0] != 1:
        raise UserError(f"matrices of shapes {shapes}: W_1 (m_1, d), W_2 (m_2, m_1), … up to one row were expected")
    return found


def product(start: Factors) -> Float64[Tensor, " d"]:
    """w = (W_L ⋯ W_1)ᵀ, multiplied from the one row on."""
    w = start[-1]
    for W in reversed(start[:-1]):
        w = w @ W
    return w[0]


def imbalance(start: Factors) -> float:
    """How far from balanced: the largest ‖W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ‖ (5.13) as a share of the largest ‖W_l‖².

    >>> imbalance([torch.tensor([[2.0], [0.0]]).double(), torch.tensor([[1.0, 0.0]]).double()])
    0.75
    """
    size = max(float(W.norm()) for W in start)
    if not size:
        return 0.0
    W = [W / size for W in start]
    return max((float((b.mT @ b - a @ a.mT).norm()) for a, b in pairwise(W)), default=0.0)


def largest_start(epsilon: float, depth: int, norm: float) -> float:
    """The right side of 5.11: a start shorter than this ends within ε of ŵ, where ``norm`` = ‖ŵ‖.

    ε^L (ε²‖ŵ‖^{−2/L} + ‖ŵ‖^{2−2/L})^{−L/2} is ‖ŵ‖ (1 + ‖ŵ‖²/ε²)^{−L/2}, which is below ‖ŵ‖, the other member of the
    minimum.

    Args:
        epsilon: ε, the distance from ŵ that is allowed in the end, above 0.
        depth: Number of layers L, at least 1.
        norm: ‖ŵ‖.

    >>> largest_start(1.0, 2, 1.0)
    0.5
    """
    if not (epsilon > 0 and depth >= 1 and norm >= 0):
        raise UserError(f"epsilon = {epsilon}, depth = {depth}, ‖ŵ‖ = {norm}: epsilon > 0, depth ≥ 1, ‖ŵ‖ ≥ 0")
    return norm * math.exp(-depth / 2 * math.log1p((norm / epsilon) ** 2))


def distance_bound(
    start: float | Float64[Tensor, "*sets"], depth: int, norm: float | Float64[Tensor, "*sets"]
) -> Float64[Tensor, "*sets"]:
    """The ε for which ‖w(0)‖ = ``start`` is just too large: the square root of D.40 and D.41, infinite from ‖ŵ‖ on.

    With x = (‖w(0)‖/‖ŵ‖)^{2/L} it is ‖ŵ‖ √(x/(1 − x)).

    Args:
        start: The length ‖w(0)‖ of the start, or one per set.
        depth: Number of layers L.
        norm: ‖ŵ‖, or one per set.

    >>> round(distance_bound(largest_start(0.25, 3, 2.0), 3, 2.0).item(), 12)
    0.25
    """
    start, norm = torch.as_tensor(start, dtype=torch.float64), torch.as_tensor(norm, dtype=torch.float64)
    log_x = 2 / depth * (start / norm).log().clamp(max=0).nan_to_num(nan=0.0)  # 1 − x from log x: exact near x = 1
    return torch.where(log_x < 0, norm * torch.rsqrt(torch.expm1(-log_x)), torch.inf)


def _direction(rng: np.random.Generator, size: int) -> Float64[Tensor, " size"]:
    u = torch.from_numpy(rng.standard_normal(size))
    return u / u.norm()
