"""Alignment: how closely the hyperplane of one node lies on that of another (SS definitions 1 and 3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.lab.instrument import instrument
from relulab.subjects.specialization.tools.nodes import Nodes, regular


@instrument(source="SS definition 3, eq. 4", ids=("SS.D", "SS.T1"))
def alignment(star: Nodes, nodes: Nodes, *, either_side: bool = False) -> Float[Tensor, "*lane m n"]:
    """The smallest ε for which nodes j and k are ε-aligned: ε_jk = max(sin θ̃_jk, |b_j − b_k|), as regular nodes.

    Nodes of opposite sides of one hyperplane have sin θ̃ = 0 too, but another function: from a right angle on, sin θ̃
    counts as 1. Rescaling a node by a positive factor changes nothing. A node without weights is aligned with none.

    Args:
        star: The nodes j, such as a teacher's, with weights (…, m, d) and biases (…, m).
        nodes: The nodes k, such as a student's, with weights (…, n, d) and biases (…, n).
        either_side: Whether nodes of opposite sides of one hyperplane count as one, |b_j + b_k| being the gap of their
            biases.

    >>> nodes = Nodes(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), torch.tensor([0.25, 0.0, 0.0]))
    >>> alignment(Nodes(torch.tensor([[2.0, 0.0]]), torch.zeros(1)), nodes).tolist()
    [[0.25, 1.0, 1.0]]
    """
    if either_side:
        return torch.minimum(alignment(star, nodes), alignment(star, Nodes(-nodes.w, -nodes.b)))
    (u_star, c_star), (u, c) = regular(star), regular(nodes)
    apart, together = (torch.cdist(u_star, v, compute_mode="donot_use_mm_for_euclid_dist") for v in (u, -u))
    # For unit vectors sin θ = ‖u − v‖ ‖u + v‖ / 2, which keeps its accuracy at small angles.
    sine = torch.where(apart < together, apart * together / 2, 1)
    gone = (u_star.abs().amax(-1) == 0).unsqueeze(-1) | (u.abs().amax(-1) == 0).unsqueeze(-2)
    return torch.maximum(sine.where(~gone, torch.inf), (c_star.unsqueeze(-1) - c.unsqueeze(-2)).abs())
