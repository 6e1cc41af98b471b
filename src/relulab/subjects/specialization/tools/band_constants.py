"""How much a band of points about a boundary tells of other hyperplanes: the constants of SS lemmas 6 and 7."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

ANGLES = 720  # of the net in three dimensions


def band_constant(x: Float[Tensor, "N d"], w: Float[Tensor, " d"], b: float, K: int, gamma: float) -> float:
    """max(M₁, M₂) of SS.T3 on the points of a band; NaN where t₁ cannot be bounded.

    Args:
        x: points of the band.
        w: the unit normal of its boundary.
        b: the bias of its boundary.
        K: nodes of teacher and student in all.
        gamma: γ of the theorem.
    """
    share = (1 + gamma) / ((3 + gamma) * K)
    # an orthonormal basis of the directions at right angles to w
    flat = x @ torch.linalg.svd(w[None], full_matrices=True).Vh[1:].T
    if not flat.shape[1]:
        return 1 + gamma  # on a line there is no other normal
    t_1 = thinnest(flat, int(share * len(x)) + x.shape[1] + 1)
    eigenvalue = float(torch.linalg.eigvalsh(flat.T @ flat / len(x))[-1])
    t_2 = min(float(flat.norm(dim=1).max()), math.sqrt(eigenvalue / share))
    M_1 = (1 + gamma) / t_1 if t_1 > 0 else math.inf
    return max(M_1, 1 + gamma + M_1 * (abs(b) + t_2)) if not math.isnan(t_1) else math.nan


def thinnest(flat: Float[Tensor, "N r"], most: int) -> float:
    """A half-width of which no band holds more than so many points, whatever its normal; NaN beyond the plane.

    Args:
        flat: points in coordinates of a hyperplane.
        most: the points that a band may hold.
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
