"""The constants of SS lemmas 6 and 7, computed from the points in a band around a boundary."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

PARALLEL = 1e-6  # sine of the angle below which the direction of a node relative to another one is lost by rounding


def band_constant(
    x: Float[Tensor, "N d"],
    w: Float[Tensor, " d"],
    b: float,
    others: Float[Tensor, "q d"],
    width: float,
    K: int,
    gamma: float,
) -> float:
    """max(M₁, M₂) of SS.T3 for the points in a band.

    A node that is parallel to the boundary has no ũ. It needs sin θ̃ ≤ M₁ ε', so M₁ is at least that large, and t₂
    covers all normals.

    Args:
        x: Points in the band, (N, d).
        w: Unit normal of the boundary, (d,).
        b: Bias of the boundary.
        others: Unit normals of the other nodes of teacher and student, (q, d).
        width: ε', half the width of the band.
        K: Number of nodes of teacher and student together.
        gamma: γ of the theorem.
    """
    share = (1 + gamma) / ((3 + gamma) * K)
    flat = x - (x @ w)[:, None] * w
    farthest = float(flat.norm(dim=1).max())
    normals = crossing_normals(w, others)
    rounding = 8 * len(w) * torch.finfo(x.dtype).eps / PARALLEL * farthest
    t_1 = thinnest(x @ normals.T, int(share * len(x)) + len(w) + 1) - rounding
    eigenvalue = float(torch.linalg.eigvalsh(flat.T @ flat / len(x))[-1])
    t_2 = min(farthest, math.sqrt(max(eigenvalue, 0.0) / share))
    M_1 = max((1 + gamma) / t_1 if t_1 > 0 else math.inf, PARALLEL / width if len(normals) < len(others) else 0.0)
    return max(M_1, 1 + gamma + M_1 * (abs(b) + t_2))


def crossing_normals(w: Float[Tensor, " d"], others: Float[Tensor, "q d"]) -> Float[Tensor, "p d"]:
    """The unit vectors ũ orthogonal to w with w̃ = cos θ̃ w + sin θ̃ ũ, for all nodes that are not parallel to w.

    Args:
        w: A unit vector, (d,).
        others: Unit normals of nodes, (q, d).

    >>> crossing_normals(torch.tensor([1.0, 0.0]), torch.tensor([[0.6, 0.8], [-1.0, 0.0]])).tolist()
    [[0.0, 1.0]]
    """
    flat = others - (others @ w)[:, None] * w
    sine = flat.norm(dim=1)
    crosses = sine > PARALLEL
    flat = flat[crosses] / sine[crosses][:, None]
    flat = flat - (flat @ w)[:, None] * w  # what cancellation left of w
    return flat / flat.norm(dim=1, keepdim=True)


def thinnest(t: Float[Tensor, "N p"], most: int) -> float:
    """The largest half-width for which no interval contains more than ``most`` of the values in a column, up to 10⁻¹².

    Args:
        t: Positions of N points along p normals, (N, p).
        most: Largest number of points allowed in a band.

    >>> thinnest(torch.tensor([[0.0], [1.0], [5.0]]), 2), thinnest(torch.tensor([[0.0], [1.0]]), 1)
    (2.4999999999975, 0.4999999999995)
    """
    if most >= len(t) or not t.shape[1]:
        return math.inf
    t = t.sort(0).values
    return float((t[most:] - t[:-most]).min()) / 2 * (1 - 1e-12)
