r"""The distillation loss on soft labels, its gradient and its curvature, computed without cancellation (T5 eq. 5.1).

With the teacher's logits z_i = w*ᵀx_i, labels y_i = σ(z_i) and δ_i = (w − w*)ᵀx_i, the loss of a point is the
Kullback–Leibler divergence KL(y‖p) between the teacher's and the student's answer,

    ℓ_i = y log(y/p) + (1 − y) log((1 − y)/(1 − p)),   p = σ(z + δ)   (D.2),

which equals log[(1 − y) e^{−yδ} + y e^{(1−y)δ}]. Near the minimum it is about δ²y(1 − y)/2. A difference of logarithms
would lose this value for δ below 10⁻⁸; the formulas here keep full relative precision.
"""

import math

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn.functional import logsigmoid

TERMS = 18  # terms of the series of e^x − 1 − x on [−1, 1]; the next term is 1e-18 of the first
FAR = 300.0  # above this |δ|, e^δ may overflow and log(e^a + e^b) is accurate


def loss(
    X: Float64[Tensor, "*#sets n d"], w_star: Float64[Tensor, " d"], w: Float64[Tensor, "*#sets d"]
) -> Float64[Tensor, "*sets"]:
    """The distillation loss ℓ₁(w) of T5 eq. 5.1, normalized so that its minimum is 0.

    Args:
        X: Points, (…, n, d), one point per row.
        w_star: The teacher w*, (d,).
        w: Students, (…, d).

    >>> X, w_star = torch.eye(2, dtype=torch.float64), torch.tensor([2.0, 0.0], dtype=torch.float64)
    >>> loss(X, w_star, w_star).item(), loss(X, w_star, 0 * w_star).item() > 0.16
    (0.0, True)
    """
    return divergence(*_logits(X, w_star, w)).mean(-1)


def gradient(
    X: Float64[Tensor, "*#sets n d"], w_star: Float64[Tensor, " d"], w: Float64[Tensor, "*#sets d"]
) -> Float64[Tensor, "*sets d"]:
    """The gradient ∇ℓ₁(w) = (1/n) Σ_i (σ(wᵀx_i) − y_i) x_i (D.4); arguments as in ``loss``."""
    rho = pull(*_logits(X, w_star, w))
    return (rho[..., None, :] @ X)[..., 0, :] / X.shape[-2]


def hessian(X: Float64[Tensor, "*#sets n d"], w: Float64[Tensor, "*#sets d"]) -> Float64[Tensor, "*sets d d"]:
    """The Hessian ∇²ℓ₁(w) = (1/n) Σ_i σ(u_i)(1 − σ(u_i)) x_i x_iᵀ with u_i = wᵀx_i (D.8 leaves out the 1/n of ℓ₁)."""
    D = curvature(_times(X, w))
    return X.mT @ (D[..., None] * X) / X.shape[-2]


def gain(
    X: Float64[Tensor, "*#sets n d"], w_star: Float64[Tensor, " d"], w: Float64[Tensor, "*#sets d"]
) -> Float64[Tensor, "*sets"]:
    """The difference ℓ₁(w) − ℓ₁(0), negative if condition 5.12 holds: the mean of (½ − y_i) u_i + log cosh(u_i/2).

    Subtracting two losses would leave only rounding errors for ‖w‖ = 10⁻¹², a typical size of a start.
    """
    u = _times(X, w)
    return (log_cosh(u / 2) - torch.tanh(_times(X, w_star) / 2) * u / 2).mean(-1)


def divergence(z: Float64[Tensor, "*any"], delta: Float64[Tensor, "*any"]) -> Float64[Tensor, "*any"]:
    """The loss ℓ_i at the logit z + δ for the label σ(z).

    The linear terms cancel, since (1 − y)(−y) + y(1 − y) = 0. This leaves log1p[(1 − y) φ(−yδ) + y φ((1 − y)δ)] with
    φ(x) = e^x − 1 − x, a sum of positive terms.
    """
    y, not_y = torch.sigmoid(z), torch.sigmoid(-z)
    near = delta.clamp(-FAR, FAR)
    exact = torch.log1p(not_y * _phi(-y * near) + y * _phi(not_y * near))
    far = torch.logaddexp(logsigmoid(-z) - y * delta, logsigmoid(z) + not_y * delta)
    return torch.where(delta.abs() > FAR, far, exact)


def pull(z: Float64[Tensor, "*any"], delta: Float64[Tensor, "*any"]) -> Float64[Tensor, "*any"]:
    """The difference σ(z + δ) − σ(z), computed as σ(−u)σ(z)(e^δ − 1) with u = z + δ, or mirrored for δ > 0."""
    side = torch.where(delta > 0, -1.0, 1.0)
    return side * torch.sigmoid(-side * (z + delta)) * torch.sigmoid(side * z) * torch.expm1(-delta.abs())


def curvature(u: Float64[Tensor, "*any"]) -> Float64[Tensor, "*any"]:
    """The second derivative σ(u)(1 − σ(u)) of ℓ_i (D.9)."""
    return torch.sigmoid(u) * torch.sigmoid(-u)


def log_cosh(v: Float64[Tensor, "*any"]) -> Float64[Tensor, "*any"]:
    """log cosh v = log(1 + 2 sinh²(v/2)): about v²/2 for small v and |v| − log 2 for large v."""
    size = v.abs()
    small = torch.log1p(2 * torch.sinh(size.clamp(max=2) / 2) ** 2)
    return torch.where(size < 2, small, size + torch.log1p(torch.exp(-2 * size)) - math.log(2))


def _phi(x: Tensor) -> Tensor:
    """e^x − 1 − x, by its series where the difference would lose digits."""
    near, series = x.clamp(-1, 1), torch.ones_like(x)
    for k in range(TERMS, 2, -1):
        series = 1 + near / k * series
    return torch.where(x.abs() < 1, near**2 / 2 * series, torch.expm1(x) - x)


def _times(X: Tensor, w: Tensor) -> Tensor:
    return (X @ w[..., None])[..., 0]


def _logits(X: Tensor, w_star: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the teacher's logits, and the student's logits minus the teacher's."""
    delta = _times(X, w - w_star)
    return _times(X, w_star).expand_as(delta), delta
