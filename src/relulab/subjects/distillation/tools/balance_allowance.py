r"""How far from ŵ a deep student can end whose start is not exactly balanced; T5 has this for balanced starts only.

Gradient flow keeps two things of the layers as they are: the part F of W_1 outside the span of the points, because its
gradient lies in the span, and the differences D_l = W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ. Let a_l = W_L ⋯ W_l, with a_{L+1} = 1,
and g_l = ‖a_l‖²/‖a_{l+1}‖². From a_l = a_{l+1} W_l and the Cauchy–Schwarz inequality,

    ‖a_l‖² = a_{l+1} (W_{l+1}ᵀ W_{l+1} − D_l) a_{l+1}ᵀ ≥ (g_{l+1} − ξ_l) ‖a_{l+1}‖²,   ξ_l = max(0, λ_max(D_l)),

so g_l ≤ g_1 + ξ_1 + … + ξ_{l−1}. At a minimum of the loss, w = a_1 has the part ŵ inside the span and a_2 F outside, so
that g_1 = ‖w‖²/‖a_2‖² ≤ ‖ŵ‖²/G + ‖F‖² with G = ‖a_2‖² = g_2 ⋯ g_L. Together,

    G ≤ Π_{l=2}^{L} (‖ŵ‖²/G + ‖F‖² + ξ_1 + … + ξ_{l−1}),   ‖w − ŵ‖ ≤ ‖F‖ √G.

The right-hand side falls in G, so the G that satisfies the equation is the largest. For balanced starts ξ_l = 0, and
the result is the exact limit of ``deep_limit``.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.tools.balanced_start import Factors, factors
from relulab.subjects.distillation.tools.span import span
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

HALVINGS = 200  # of the logarithm of G


def balance_allowance(X: Numbers, w_star: Numbers, start: Sequence[Numbers]) -> float:
    """The largest possible ‖w − ŵ‖ at a minimum of the loss that gradient flow reaches from a start.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        start: Factor matrices W_1, …, W_L, balanced or not.

    >>> balance_allowance([[1.0, 0.0]], [1.0, 1.0], [[[0.0, 0.1]], [[0.1]]]) < 0.11
    True
    """
    given, W = transfer(X, w_star), factors(start)
    size = max(float(matrix.abs().max()) for matrix in W) or 1.0
    norm = float(distilled(*given).w.norm())
    if len(W) == 1:
        return float((W[0] - span(given.X).projected(W[0])).norm())
    # Dividing all layers by s divides w by s^L; this keeps squares of very large and very small numbers in range.
    s = max(size, norm ** (1 / len(W)))
    W = [matrix / s for matrix in W]
    F = float(torch.linalg.matrix_norm(W[0] - span(given.X).projected(W[0]), 2))
    return s ** len(W) * F * math.sqrt(_largest(norm / s ** len(W), F**2, list(accumulate(excesses(W)))))


def excesses(W: Factors) -> list[float]:
    """The numbers ξ_l = max(0, λ_max(W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ)) for l = 1, …, L − 1."""
    return [max(0.0, float(torch.linalg.eigvalsh(difference)[-1])) for difference in differences(W)]


def differences(W: Factors) -> list[Float64[Tensor, "_ _"]]:
    """The matrices D_l = W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ for l = 1, …, L − 1, which are zero for a balanced start."""
    return [above.mT @ above - below @ below.mT for below, above in pairwise(W)]


def _largest(norm: float, square: float, sums: list[float]) -> float:
    """Solve log G = Σ_l log(‖ŵ‖²/G + ‖F‖² + ξ_1 + … + ξ_{l−1}) by bisection, and return the upper end."""

    def excess(x: float) -> float:
        return x - sum(math.log(norm**2 * math.exp(-x) + square + total) for total in sums)

    low, high = -1.0, 1.0
    while excess(low) > 0:
        low *= 2
    while excess(high) < 0:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return math.exp(high)
