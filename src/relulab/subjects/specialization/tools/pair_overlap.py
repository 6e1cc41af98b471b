r"""Overlaps of two nodes under Gaussian inputs, from their biases and the angle between their weights.

Let (u, v) be standard normal with correlation cos θ, and let a node with bias h be active where h + u > 0. Price's
theorem gives ∂D/∂cos θ = φ₂, the joint density of (u, v) at (−h, −k), and ∂L/∂cos θ = D, for

    D(θ) = P(h + u > 0, k + v > 0),    L(θ) = E[σ(h + u) σ(k + v)].

Integrating from θ = π, where v = −u, leaves integrals of one positive function, so small overlaps are as accurate as
large ones:

    D(θ) = D(π) + (1/2π) ∫_θ^π e(t) dt
    L(θ) = L(π) + (1 + cos θ) D(π) + (1/2π) ∫_θ^π (cos θ − cos t) e(t) dt
    e(t) = exp(−(h − k)²/(8 sin²(t/2)) − (h + k)²/(8 cos²(t/2)))

Without biases, e = 1, and these are the arc-cosine kernels (π − θ)/2π and (sin θ + (π − θ) cos θ)/2π.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

NODES = 60  # of Gauss and Legendre, for each half of the angles
NEAREST, NO_LAYER = 1e-8, 1e-12  # e(t) is not resolved closer than this to t = 0 and π; thinner layers do not count
CHUNK = 1 << 13  # pairs in one pass, so that its numbers stay in the cache
ACCURACY = 1e-10
"""largest relative error of overlaps above 1e-60, if no bias is larger than 10 in absolute value"""

Shaped = Float[Tensor, "..."]


class PairOverlap(NamedTuple):
    """Overlaps of pairs of nodes with weights of norm one: D, how often both are active, and L, their mean product."""

    D: Shaped
    L: Shaped


def pair_overlap(h: Shaped, k: Shaped, theta: Shaped) -> PairOverlap:
    """Return D and L of pairs of nodes for inputs from N(0, I) and weights of norm one, in float64.

    Args:
        h: Bias of the first node of each pair.
        k: Bias of the second one.
        theta: Angle between their weights, from 0 to π.

    >>> D, L = pair_overlap(torch.tensor(0.0), torch.tensor(0.0), torch.tensor(math.pi / 2))
    >>> round(D.item(), 6), round(L.item() * 2 * math.pi, 6)
    (0.25, 1.0)
    """
    h, k, theta = torch.broadcast_tensors(h.double(), k.double(), theta.double())
    if not (h.any() or k.any()):
        return _without_biases(theta)
    flat = [t.reshape(-1).split(CHUNK) for t in (h, k, theta)]
    parts = [_integrated(*part) for part in zip(*flat, strict=True)]
    return PairOverlap(*(torch.cat(values).reshape(theta.shape) for values in zip(*parts, strict=True)))


def share_below(z: Shaped) -> Shaped:
    """Return Φ(z), the share of a standard normal distribution below z; how often a node with bias z is active.

    ``torch.special.ndtr`` loses digits below −5, and half of them at −7.

    Args:
        z: Any numbers.

    >>> share_below(torch.tensor([0.0, -7.0], dtype=torch.float64)).tolist()
    [0.5, 1.279812543885835e-12]
    """
    return torch.erfc(-z / math.sqrt(2)) / 2


def slope_bound(h: Shaped, k: Shaped, low: Shaped, high: Shaped) -> Shaped:
    """Return an upper bound on −∂D/∂θ for all angles from ``low`` to ``high``.

    The first factor of e(θ) grows with the angle and the second one falls.

    Args:
        h: Bias of the first node of each pair, in float64.
        k: Bias of the second one.
        low: The smallest angle.
        high: The largest angle.
    """
    near, far = (h - k).square() / 8, (h + k).square() / 8
    exponent = _divided(near, (high / 2).sin()) + _divided(far, ((math.pi - low) / 2).sin())
    return (-exponent).exp() / (2 * math.pi)


def _divided(a: Shaped, sine: Shaped) -> Shaped:
    """a / sine², and 0 for a = 0."""
    return torch.where(a > 0, a / sine.square(), 0.0)


def _without_biases(theta: Shaped) -> PairOverlap:
    rest = math.pi - theta
    closed = rest.sin() - rest * rest.cos()
    series = rest**3 / 3 * (1 - rest**2 / 10 + rest**4 / 280)  # where the two terms cancel
    return PairOverlap(rest / (2 * math.pi), torch.where(rest < 0.03, series, closed) / (2 * math.pi))


def _integrated(h: Shaped, k: Shaped, theta: Shaped) -> PairOverlap:
    """Integrate over t from θ to π/2 in τ = tan(t/2), and over the rest in 1/τ, where e(t) has the same form."""
    sine, cosine = (theta / 2).sin(), ((math.pi - theta) / 2).sin()
    near, far = (h - k).square() / 8, (h + k).square() / 8
    one = torch.ones_like(theta)
    parts = (
        (*_half(near, far, (sine / cosine).clamp(max=1), one), 1.0, sine),
        (*_half(far, near, torch.zeros_like(theta), (cosine / sine).clamp(max=1)), -1.0, cosine),
    )
    scale = (-(h.square() + k.square()) / 4).exp() / (2 * math.pi)
    D, L = torch.zeros_like(theta), torch.zeros_like(theta)
    for e, square, sign, end in parts:
        D += scale * e.sum(-1)
        # cos θ − cos t = 2 (sin²(t/2) − sin²(θ/2)) = 2 (cos²(θ/2) − cos²(t/2))
        L += scale * sign * 2 * (e * (square / (1 + square) - end.square()[:, None])).sum(-1)
    both, product = _opposite(h, k)
    return PairOverlap(D + both, L + product + 2 * cosine.square() * both)


def _half(
    a: Float[Tensor, " n"], b: Float[Tensor, " n"], start: Float[Tensor, " n"], end: Float[Tensor, " n"]
) -> tuple[Float[Tensor, "n q"], Float[Tensor, "n q"]]:
    """Return the terms of ∫ 2/(1 + τ²) exp(a + b − a (1 + 1/τ²) − b (1 + τ²)) dτ, and τ².

    The integrand vanishes where τ is small against √a. With τ = c sinh z and c about √a, it is smooth in z.
    """
    x, weight = (nodes.to(a.device) for nodes in _gauss())
    c = (0.3 * a.sqrt()).clamp(min=NEAREST).where(a.sqrt() > NO_LAYER, 1.0)
    z_0, z_1 = torch.asinh(start / c), torch.asinh(end / c)
    grow = (z_0[:, None] + (z_1 - z_0)[:, None] * x).exp()
    tau, step = (c[:, None] / 2 * (grow + sign / grow) for sign in (-1, 1))
    square = tau.square().clamp(min=torch.finfo(tau.dtype).tiny)
    value = (-a[:, None] / square - b[:, None] * square).exp() * step * weight * (z_1 - z_0)[:, None]
    return 2 * value / (1 + square), square


@cache
def _gauss() -> tuple[Float[Tensor, " q"], Float[Tensor, " q"]]:
    x, weight = np.polynomial.legendre.leggauss(NODES)
    return torch.from_numpy((x + 1) / 2), torch.from_numpy(weight / 2)


def _opposite(h: Shaped, k: Shaped) -> tuple[Shaped, Shaped]:
    """D(π) and L(π): both nodes are active for −h < u < k."""
    low, high = torch.minimum(h, k), torch.maximum(h, k)
    both = (share_below(low) - share_below(-high)).where(h + k > 0, 0.0)
    density_h, density_k = ((-z.square() / 2).exp() / math.sqrt(2 * math.pi) for z in (h, k))
    product = (h * k - 1) * both + k * density_h + h * density_k
    return both, product.where(h + k > 0, 0.0).clamp(min=0)
