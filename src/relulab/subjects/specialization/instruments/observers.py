"""Observers: whether the boundary of a node can be seen from where another is active (SS definition 4, section 5)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.subjects.specialization.tools.nodes import Nodes, regular


@instrument(source="SS definition 4", ids=("SS.D", "SS.T1"))
def observers(nodes: Nodes, others: Nodes, low: Float[Tensor, " d"], high: Float[Tensor, " d_"]) -> Bool[Tensor, "m n"]:
    """Whether node k observes node j on the box low ≤ x ≤ high: k is active somewhere on j's boundary in the box.

    Exact. It asks whether max {w_kᵀx + b_k : w_jᵀx + b_j = 0, low ≤ x ≤ high} > 0, a linear program with one equation
    (``sight``). A node whose boundary misses the box is observed by none.

    Args:
        nodes: The nodes j that are observed, with weights (m, d) and biases (m,).
        others: The nodes k that observe, with weights (n, d) and biases (n,).
        low: The least x of the box, (d,).
        high: The greatest x of the box, (d,).

    >>> axes, corner = Nodes(torch.eye(2), torch.zeros(2)), Nodes(torch.ones(1, 2), torch.tensor([-0.5]))
    >>> observers(axes, corner, -torch.ones(2), torch.ones(2)).tolist()
    [[True], [True]]
    """
    return sight(nodes, others, low, high) > 0


def sight(nodes: Nodes, others: Nodes, low: Float[Tensor, " d"], high: Float[Tensor, " d_"]) -> Float[Tensor, "m n"]:
    r"""The largest input of node k on the boundary of node j within a box; −∞ where the boundary misses the box.

    By duality the linear program is a convex piecewise linear function of one number,

        min_λ  b_k + λ b_j + Σ_i max(low_i c_i, high_i c_i),   c = w_k + λ w_j,

    with kinks at λ_i = −w_{k,i}/w_{j,i}: its least value is at the kink where the slope changes sign.
    """
    (w, b), (w_k, b_k), d = nodes, others, nodes.w.shape[1]
    if not d == w_k.shape[1] == len(low) == len(high) or not (low <= high).all():
        raise UserError(f"nodes of {d} and {w_k.shape[1]} inputs on a box of {len(low)}: equal, and low ≤ high")
    # Per pair (j, k): the point x_i as λ runs from −∞ to ∞ goes from one end of its interval to the other at λ_i.
    rising = w > 0
    first, last = torch.where(rising, low, high), torch.where(rising, high, low)
    jump = w * (last - first)  # ≥ 0, how much w_jᵀx gains when coordinate i changes its end
    start, end = b + (w * first).sum(1), b + (w * last).sum(1)  # the range of w_jᵀx + b_j over the box
    kinks = torch.where((w != 0).unsqueeze(1), -w_k / w.where(w != 0, 1).unsqueeze(1), torch.inf)
    order = kinks.argsort(-1)
    gained = start[:, None, None] + jump.unsqueeze(1).expand_as(kinks).gather(-1, order).cumsum(-1)
    # At the first kink after which w_jᵀx + b_j ≥ 0 the boundary is met: coordinates before it have changed their end.
    place = (gained < 0).sum(-1, keepdim=True).clamp(max=d - 1)
    rank = order.argsort(-1)
    changed, here = rank < place, rank == place
    free = torch.where(w_k > 0, high, low)  # of coordinates that node j does not feel
    ends = torch.where(changed, last.unsqueeze(1), first.unsqueeze(1))
    x = torch.where((w != 0).unsqueeze(1), ends, free)
    over = b[:, None] + torch.einsum("jd,jkd->jk", w, x.where(~here, 0))
    at = (w.unsqueeze(1).expand_as(x) * here).sum(-1)
    moved = torch.where(at != 0, -over / at.where(at != 0, 1), 0).unsqueeze(-1)
    x = torch.where(here & (at != 0).unsqueeze(-1), moved, x)
    value = b_k + (w_k * x).sum(-1)
    met = (start <= 0) & (end >= 0) & (w != 0).any(1)
    return value.where(met.unsqueeze(1), -torch.inf)


@instrument(source="SS definition 5", ids=("SS.D",))
def band_counts(nodes: Nodes, x: Float[Tensor, "N d"], epsilon: float) -> Int[Tensor, " m"]:
    """N_D[I_j(ε)], the number of points in the band |w̃_jᵀx + b_j| ≤ ε of every node, taken as a regular one.

    Args:
        nodes: Nodes whose boundaries are meant, with weights (m, d) and biases (m,).
        x: Points, (N, d).
        epsilon: ε, half the width of the band.

    >>> band_counts(Nodes(torch.tensor([[2.0]]), torch.zeros(1)), torch.tensor([[0.0], [0.5], [1.0]]), 0.5).tolist()
    [2]
    """
    return in_band(nodes, x, epsilon).sum(0)


@instrument(source="SS theorem 3, condition 1", ids=("SS.D", "SS.T3"))
def kappa(nodes: Nodes, others: Nodes, x: Float[Tensor, "N d"], epsilon: float) -> Float[Tensor, "m n"]:
    """κ_jk = N_D[I_j(ε) ∩ E_k] / N_D[I_j(ε)], the share of j's band in which k is active; 0 where the band is empty.

    Args:
        nodes: The nodes j whose bands are meant, with weights (m, d) and biases (m,).
        others: The nodes k that are active or not, with weights (n, d) and biases (n,).
        x: Points, (N, d).
        epsilon: ε, half the width of the band.

    >>> first, second = (Nodes(axis[None], torch.zeros(1)) for axis in torch.eye(2))
    >>> kappa(first, second, torch.tensor([[0.0, 1.0], [0.1, -1.0], [2.0, 1.0]]), 0.5).tolist()
    [[0.5]]
    """
    band, active = in_band(nodes, x, epsilon).to(x.dtype), (x @ others.w.T + others.b > 0).to(x.dtype)
    return (band.T @ active) / band.sum(0).clamp(min=1)[:, None]


def in_band(nodes: Nodes, x: Tensor, epsilon: float) -> Bool[Tensor, "N m"]:
    """Whether a point lies in I_j(ε), the band |w̃_jᵀx + b_j| ≤ ε of a regular node; no point does of a dead one."""
    u, c = regular(nodes)
    if x.shape[1] != u.shape[1]:
        raise UserError(f"points of {x.shape[1]} entries for nodes of {u.shape[1]} inputs")
    return ((x @ u.T + c).abs() <= epsilon) & (u.abs().amax(1) > 0)
