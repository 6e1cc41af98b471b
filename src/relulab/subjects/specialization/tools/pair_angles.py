"""Angles between all pairs of unit vectors."""

from jaxtyping import Float
from torch import Tensor

from relulab.core.angle import unit_angle

PARALLEL = 0.9  # |cos θ| above which the angle is computed from differences
CHUNK = 1 << 22  # numbers per pass over nearly parallel pairs


def pair_angles(u: Float[Tensor, "*lane m d"], v: Float[Tensor, "*lane n d"]) -> Float[Tensor, "*lane m n"]:
    """Return the angles between the rows of u and v, from 0 to π, accurate near 0 and π.

    For most pairs, the arccos of a matrix product is accurate. It loses digits for nearly parallel vectors, where
    2 atan2(‖u − v‖, ‖u + v‖) is used instead.

    Args:
        u: Unit vectors, (…, m, d).
        v: Unit vectors, (…, n, d).

    >>> import torch
    >>> torch.rad2deg(pair_angles(torch.eye(2), -torch.eye(2))).round().tolist()
    [[180.0, 90.0], [90.0, 180.0]]
    """
    cosine = (u @ v.mT).clamp(-1, 1)
    angle = cosine.arccos()
    u, v = (vectors.expand(*cosine.shape[:-2], *vectors.shape[-2:]) for vectors in (u, v))
    for pairs in (cosine.abs() > PARALLEL).nonzero().split(max(1, CHUNK // u.shape[-1])):
        *lane, j, k = pairs.unbind(1)
        angle[(*lane, j, k)] = unit_angle(u[(*lane, j)], v[(*lane, k)])
    return angle
