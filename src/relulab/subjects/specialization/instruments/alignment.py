"""Alignment: the distance between the hyperplanes of two nodes (SS definitions 1 and 3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.lab.instrument import instrument
from relulab.subjects.specialization.tools.nodes import Nodes, regular


@instrument(source="SS definition 3, eq. 4", ids=("SS.D", "SS.T1"))
def alignment(star: Nodes, nodes: Nodes, *, either_side: bool = False) -> Float[Tensor, "*lane m n"]:
    """The smallest ε for which nodes j and k are ε-aligned, ε_jk = max(sin θ̃_jk, |b_j − b_k|).

    Nodes are first scaled to be regular (‖w‖ = 1), so positive rescaling changes nothing. θ̃_jk is the angle between
    their weights. For angles of 90° or more, sin θ̃ is replaced by 1, because nodes that are active on opposite sides of
    the same hyperplane are different functions. The error of a node with zero weights is ∞.

    Args:
        star: Nodes j, such as the teacher's, with weights (…, m, d) and biases (…, m).
        nodes: Nodes k, such as the student's, with weights (…, n, d) and biases (…, n).
        either_side: Whether to ignore on which side of its hyperplane a node is active. If so, the smaller of the
            errors for (w_k, b_k) and (−w_k, −b_k) is returned.

    Returns:
        The errors ε_jk, (…, m, n).

    >>> nodes = Nodes(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), torch.tensor([0.25, 0.0, 0.0]))
    >>> alignment(Nodes(torch.tensor([[2.0, 0.0]]), torch.zeros(1)), nodes).tolist()
    [[0.25, 1.0, 1.0]]
    """
    if either_side:
        return torch.minimum(alignment(star, nodes), alignment(star, Nodes(-nodes.w, -nodes.b)))
    (u_star, c_star), (u, c) = regular(star), regular(nodes)
    apart, together = (torch.cdist(u_star, v, compute_mode="donot_use_mm_for_euclid_dist") for v in (u, -u))
    # For unit vectors sin θ = ‖u − v‖ ‖u + v‖ / 2, which is accurate at small angles.
    sine = torch.where(apart < together, apart * together / 2, 1)
    zero = (u_star.abs().amax(-1) == 0).unsqueeze(-1) | (u.abs().amax(-1) == 0).unsqueeze(-2)
    return torch.maximum(sine.where(~zero, torch.inf), (c_star.unsqueeze(-1) - c.unsqueeze(-2)).abs())
