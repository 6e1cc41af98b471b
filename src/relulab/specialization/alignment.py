"""Alignment: how closely the hyperplane of one node lies on that of another (SS definitions 1 and 3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.lab.instrument import instrument


@instrument(source="SS definition 1", ids=("SS.D",))
def regular(
    w: Float[Tensor, "*lane n d"], b: Float[Tensor, "*lane n"]
) -> tuple[Float[Tensor, "*lane n d"], Float[Tensor, "*lane n"]]:
    """Nodes σ(w̃ᵀx + b) scaled to ‖w̃‖ = 1, a node a row; one without weights, which has no hyperplane, becomes 0.

    >>> [t.tolist() for t in regular(torch.tensor([[3.0, 4.0]]), torch.tensor([10.0]))]
    [[[0.6000000238418579, 0.800000011920929]], [2.0]]
    """
    largest = w.abs().amax(-1)
    scaled = w / largest.where(largest > 0, 1).unsqueeze(-1)  # squares of very large or small weights leave the range
    norm = scaled.norm(dim=-1) * largest
    safe = norm.where(norm > 0, 1)
    return w / safe.unsqueeze(-1), torch.where(norm > 0, b / safe, 0)


@instrument(source="SS definition 3, eq. 4", ids=("SS.D", "SS.T1"))
def alignment(
    w_star: Float[Tensor, "*lane m d"],
    b_star: Float[Tensor, "*lane m"],
    w: Float[Tensor, "*lane n d"],
    b: Float[Tensor, "*lane n"],
) -> Float[Tensor, "*lane m n"]:
    """The smallest ε for which nodes j and k are ε-aligned: ε_jk = max(sin θ̃_jk, |b_j − b_k|), as regular nodes.

    Nodes of opposite sides of one hyperplane have sin θ̃ = 0 too, but another function: from a right angle on, sin θ̃
    counts as 1. Rescaling of a node by a positive factor changes nothing. A node without weights is aligned with none.

    >>> w, b = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), torch.tensor([0.25, 0.0, 0.0])
    >>> alignment(torch.tensor([[2.0, 0.0]]), torch.zeros(1), w, b).tolist()
    [[0.25, 1.0, 1.0]]
    """
    (u_star, c_star), (u, c) = regular(w_star, b_star), regular(w, b)
    apart, together = (torch.cdist(u_star, v, compute_mode="donot_use_mm_for_euclid_dist") for v in (u, -u))
    # For unit vectors sin θ = ‖u − v‖ ‖u + v‖ / 2, which keeps its accuracy at small angles.
    sine = torch.where(apart < together, apart * together / 2, 1)
    gone = (u_star.abs().amax(-1) == 0).unsqueeze(-1) | (u.abs().amax(-1) == 0).unsqueeze(-2)
    return torch.maximum(sine.where(~gone, torch.inf), (c_star.unsqueeze(-1) - c.unsqueeze(-2)).abs())
