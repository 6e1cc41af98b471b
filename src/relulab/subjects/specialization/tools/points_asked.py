r"""The number of Gaussian points at which the conditions of SS theorems 3 and 4 on the data hold.

Condition (a) asks for n = (γ + 3) K (d + 1) points in the band |w*_jᵀx + b_j| ≤ ε' where student k is active, and (b)
for ε' = ε/max(M₁, M₂), where M₁ and M₂ depend on these n points. Points are drawn one after the other from N(0, σ² I)
until the band has n of them. Nothing is lost by drawing only the points in the band: their number among N points is
binomial, so N has a negative binomial distribution.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import norm

from relulab.subjects.specialization.tools.band_constants import band_constant
from relulab.subjects.specialization.tools.nodes import Nodes


class Asked(NamedTuple):
    """What the conditions ask for."""

    points: int
    """N, the number of points that were drawn until n of them were in the band"""
    width: float
    """ε', half the width of the band"""
    in_band: int
    """n"""
    kappa: float
    """κ, the probability that student k is active at a point of the boundary"""


def points_asked(
    rng: np.random.Generator,
    nodes: Nodes,
    teachers: int,
    epsilon: float,
    gamma: float,
    *,
    sigma: float = 1.0,
    corner: bool = False,
) -> Asked:
    """Draw points until conditions (a) and (b) hold for teacher node 0 and its best observer.

    Args:
        rng: Random generator of NumPy.
        nodes: Regular nodes of the teacher, then of the student, with weights (K, d) and biases (K,).
        teachers: Number of nodes of the teacher, at least 1.
        epsilon: The alignment error ε, above 0.
        gamma: γ of the theorem: 2√d for theorem 3, 2 for theorem 4.
        sigma: Standard deviation σ of the points.
        corner: Whether the points must also lie within ε' of the boundary of node 1.
    """
    w, b = (t.numpy() for t in nodes)
    K, d = w.shape
    cosine = w @ w[0]
    # the values of the other nodes on the boundary of node 0 are Gaussian
    mean, spread = b - cosine * b[0], sigma * np.sqrt(np.maximum(1 - cosine**2, 0))
    active = norm.sf(-mean[teachers:] / np.maximum(spread[teachers:], 1e-300))
    k = teachers + int(active.argmax())
    kappa, n = float(active.max()), math.ceil((gamma + 3) * K * (d + 1))
    x = _on_boundary(rng, w[0], b[0], w[k], b[k], n, sigma)
    M = band_constant(torch.from_numpy(x), nodes.w[0], float(b[0]), nodes.w[1:], epsilon, K, gamma)
    width = epsilon / M
    p = kappa * _near(-b[0], width, sigma)
    if corner:
        p *= _near(-mean[1], width, float(spread[1]))
    return Asked(n + int(rng.negative_binomial(n, p)), width, n, kappa)


def _near(center: float, width: float, spread: float) -> float:
    """The probability that a Gaussian with mean 0 is within ``width`` of ``center``."""
    return float(norm.cdf((center + width) / spread) - norm.cdf((center - width) / spread))


def _on_boundary(rng: np.random.Generator, w, b: float, w_k, b_k: float, n: int, sigma: float) -> np.ndarray:
    """Draw n points on the boundary wᵀx + b = 0 at which node k is active. The band around it is very thin."""
    parts, count = [], 0
    while count < n:
        x = sigma * rng.standard_normal((2 * n, len(w)))
        x -= np.outer(x @ w + b, w)
        parts.append(x[x @ w_k + b_k > 0])
        count += len(parts[-1])
    return np.concatenate(parts)[:n]
