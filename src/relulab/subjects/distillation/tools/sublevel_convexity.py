r"""How convex the distillation loss is on a sublevel set, along the span of the points (T5 theorem D.3).

If ℓ₁(w) ≤ l, then ℓ_i(wᵀx_i) ≤ nl for every point (D.11), so the logit u_i = wᵀx_i lies in a bounded interval. With
δ_i = u_i − z_i, the difference from the teacher's logit, let ω_i be the least value on this interval of

- the curvature ℓ_i'' = σ(u)(1 − σ(u)) (D.9). Then ∇²ℓ₁(w) ⪰ μI on the span, the constant of D.6;
- the slope ℓ_i'/δ_i of the gradient. Then ‖∇ℓ₁(w)‖ ≥ μ ‖P_X w − ŵ‖;
- the growth 2ℓ_i/δ_i² of the loss. Then ℓ₁(w) ≥ μ/2 ‖P_X w − ŵ‖² (D.21);

where μ is the smallest eigenvalue of (1/n) Σ_i ω_i x_i x_iᵀ on the span. The thesis uses the first one, with the
smallest ω_i for all points. It is about e^{−|u|} at the end of the interval, which is long for almost hard labels. The
other two are means of the curvature between teacher and student and fall only like 1/|u|. On either side of the
teacher's logit, all three rise, then fall, or do one of the two, so their least values are at the ends.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.subjects.distillation.tools.distillation_loss import curvature, divergence, pull
from relulab.subjects.distillation.tools.span import span

LONGEST, HALVINGS = 1e6, 30  # largest difference of logits, and steps to find one; the outer end of the last is used


class Convexity(NamedTuple):
    """The constants μ of the curvature, of the slope of the gradient, and of the growth of the loss."""

    curvature: float
    slope: float
    growth: float


def sublevel_convexity(X: Float64[Tensor, "n d"], w_star: Float64[Tensor, " d"], level: float) -> Convexity:
    """Compute the three constants for the set of all w with ℓ₁(w) ≤ level.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,).
        level: The level l, above 0.

    >>> X, w_star = torch.eye(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    >>> [round(mu, 3) for mu in sublevel_convexity(X, w_star, 0.1)]
    [0.084, 0.11, 0.117]
    """
    within = span(X)
    V, z = within.V[within.kept], X @ w_star
    low, high = (farthest(z, side, len(X) * level) for side in (-1.0, 1.0))
    here = curvature(z)
    omegas = (
        torch.minimum(curvature(z + low), curvature(z + high)),
        torch.stack([here, pull(z, low) / low, pull(z, high) / high]).amin(0),
        torch.stack([here, 2 * divergence(z, low) / low**2, 2 * divergence(z, high) / high**2]).amin(0),
    )
    # The singular values of √ω_i x_i keep twice the digits of the eigenvalues of the matrix.
    values = [torch.linalg.svdvals(omega.sqrt()[:, None] * (X @ V.mT))[len(V) - 1] for omega in omegas]
    return Convexity(*(float(value**2) / len(X) for value in values))


def farthest(z: Float64[Tensor, " n"], side: float, level: float) -> Float64[Tensor, " n"]:
    """The difference δ of the sign ``side`` at which the loss of a point with the label σ(z) reaches the level.

    Args:
        z: The teacher's logits.
        side: −1 or 1.
        level: The loss of one point, above 0. It rises with |δ|, so δ is found by bisection.
    """
    high = torch.ones_like(z)
    while (short := (divergence(z, side * high) <= level) & (high < LONGEST)).any():
        high = torch.where(short, 2 * high, high)
    low = torch.zeros_like(z)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = divergence(z, side * middle) <= level
        low, high = torch.where(inside, middle, low), torch.where(inside, high, middle)
    return side * high
