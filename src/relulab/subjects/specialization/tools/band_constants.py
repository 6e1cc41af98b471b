"""The constants of SS lemmas 6 and 7, computed from the points in a band around a boundary."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

ANGLES = 720  # directions of the net in three dimensions


def band_constant(x: Float[Tensor, "N d"], w: Float[Tensor, " d"], b: float, K: int, gamma: float) -> float:
    """max(M₁, M₂) of SS.T3 for the points in a band. NaN where t₁ cannot be bounded.

    Args:
        x: Points in the band, (N, d).
        w: Unit normal of the boundary, (d,).
        b: Bias of the boundary.
        K: Number of nodes of teacher and student together.
        gamma: γ of the theorem.
    """
    share = (1 + gamma) / ((3 + gamma) * K)
    # coordinates in an orthonormal basis of the directions orthogonal to w
    flat = x @ torch.linalg.svd(w[None], full_matrices=True).Vh[1:].T
    if not flat.shape[1]:
        return 1 + gamma  # with one input there is no other normal
    t_1 = thinnest(flat, int(share * len(x)) + x.shape[1] + 1)
    eigenvalue = float(torch.linalg.eigvalsh(flat.T @ flat / len(x))[-1])
    t_2 = min(float(flat.norm(dim=1).max()), math.sqrt(eigenvalue / share))
    M_1 = (1 + gamma) / t_1 if t_1 > 0 else math.inf
    return max(M_1, 1 + gamma + M_1 * (abs(b) + t_2)) if not math.isnan(t_1) else math.nan


def thinnest(flat: Float[Tensor, "N r"], most: int) -> float:
    """A half-width for which no band, whatever its normal, contains more than ``most`` points. NaN for r > 2.

    Args:
        flat: Points in coordinates of a hyperplane, (N, r).
        most: Largest number of points allowed in a band.
    """
    N, r = flat.shape
    if most >= N:
        return math.inf
    if r == 1:
        normals, widened = flat.new_ones(1, 1), 0.0
    elif r == 2:
        phi = torch.arange(ANGLES, dtype=flat.dtype, device=flat.device) * (math.pi / ANGLES)
        normals = torch.stack([phi.cos(), phi.sin()], 1)
        widened = 2 * math.sin(math.pi / (4 * ANGLES)) * float((flat - flat.mean(0)).norm(dim=1).max())
    else:
        return math.nan
    t = (flat @ normals.T).sort(0).values
    return float((t[most:] - t[:-most]).min()) / 2 * (1 - 1e-12) - widened
