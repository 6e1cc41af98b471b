"""One pass over the points: how many lie near each teacher boundary, who is active there, and the largest gradient."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import leaky_relu

from relulab.core.followed import followed
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.nodes import gates, lowest, regular

CHUNK = 2000  # points per pass, so that memory does not grow with the data


@dataclass(frozen=True)
class BoundaryCounts:
    """Counts of points near the boundaries of m teacher nodes.

    Attributes:
        band: Number of points in the band |w̃_jᵀx + b_j| ≤ ε of each teacher node.
        kappa: Share of these points at which each student is active, κ_jk; 0 if the band is empty.
        gradient: Largest |g_k(x)| over all points x and students k.
    """

    band: Int[Tensor, " m"]
    kappa: Float[Tensor, "m n"]
    gradient: float


@torch.no_grad()
def boundary_counts(teacher: MLP, student: MLP, x: Float[Tensor, "N d"], epsilon: float) -> BoundaryCounts:
    """Compute ``band_counts``, ``kappa`` and the largest gradient g_k(x) = z_k v_kᵀ(f* − f) in one pass.

    Args:
        teacher: One two-layer (leaky) ReLU network in float64.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), in float64.
        epsilon: ε, half the width of the band.
    """
    star, nodes = lowest(teacher), lowest(student)
    u, norm = regular(star), star.w.norm(dim=1)
    exists = norm > 0  # a node without weights has no boundary
    v_star, v = teacher.W[1].data[0], student.W[1].data[0]
    constant = teacher.b[1].data[0, 0] - student.b[1].data[0, 0]
    constant = constant + leaky_relu(star.b[~exists], teacher.slope) @ v_star[~exists]
    band, both = x.new_zeros(len(norm)), x.new_zeros(len(norm), len(nodes.b), dtype=torch.float32)
    largest = 0.0
    for part in followed(x.split(CHUNK), "comparing the networks at the points"):
        at_star, at = part @ u.w.T + u.b, part @ nodes.w.T + nodes.b
        near, active = (at_star.abs() <= epsilon) & exists, at > 0
        band += near.sum(0)
        both += near.T.float() @ active.float()  # counts up to 2²⁴ are exact in float32
        f_star, f = leaky_relu(at_star, teacher.slope) * norm, leaky_relu(at, student.slope)
        g = (f_star @ v_star - f @ v + constant) @ v.T * gates(active, student.slope)
        largest = max(largest, float(g.abs().max()))
    return BoundaryCounts(band.long(), both.to(x.dtype) / band.clamp(min=1)[:, None], largest)
