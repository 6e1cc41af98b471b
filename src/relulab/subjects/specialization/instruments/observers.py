"""Observers: nodes that are active somewhere on the boundary of another node (SS definition 4, section 5)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.subjects.specialization.tools.nodes import Nodes, regular


@instrument(source="SS definition 4", ids=("SS.D", "SS.T1"))
def observers(nodes: Nodes, others: Nodes, low: Float[Tensor, " d"], high: Float[Tensor, " d_"]) -> Bool[Tensor, "m n"]:
    """Return whether node k is active somewhere on the boundary of node j within the box low ≤ x ≤ high.

    The result is exact: max {w_kᵀx + b_k : w_jᵀx + b_j = 0, low ≤ x ≤ high} > 0 is a linear program with one equation
    (``sight``). A node whose boundary does not meet the box has no observers.

    Args:
        nodes: Nodes j that are observed, with weights (m, d) and biases (m,).
        others: Nodes k that observe, with weights (n, d) and biases (n,).
        low: Lower bounds of the box, (d,).
        high: Upper bounds of the box, (d,).

    Returns:
        Whether node k observes node j, (m, n).

    >>> axes, corner = Nodes(torch.eye(2), torch.zeros(2)), Nodes(torch.ones(1, 2), torch.tensor([-0.5]))
    >>> observers(axes, corner, -torch.ones(2), torch.ones(2)).tolist()
    [[True], [True]]
    """
    return sight(nodes, others, low, high) > 0


def sight(nodes: Nodes, others: Nodes, low: Float[Tensor, " d"], high: Float[Tensor, " d_"]) -> Float[Tensor, "m n"]:
    r"""The largest w_kᵀx + b_k on the boundary of node j within a box; −∞ if the boundary does not meet the box.

    By duality, this linear program is the minimum of a convex piecewise linear function of one variable,

        min_λ  b_k + λ b_j + Σ_i max(low_i c_i, high_i c_i),   c = w_k + λ w_j,

    with kinks at λ_i = −w_{k,i}/w_{j,i}. The minimum is at the kink where the slope changes sign.

    Args:
        nodes: Nodes j, with weights (m, d) and biases (m,).
        others: Nodes k, with weights (n, d) and biases (n,).
        low: Lower bounds of the box, (d,).
        high: Upper bounds of the box, (d,).
    """
    (w, b), (w_k, b_k), d = nodes, others, nodes.w.shape[1]
    if not d == w_k.shape[1] == len(low) == len(high):
        raise UserError(
            f"expected nodes and box of the same dimension, got nodes with {d} and {w_k.shape[1]} inputs and a box "
            f"with {len(low)} lower and {len(high)} upper bounds: use the same inputs for all"
        )
    if not (low <= high).all():
        raise UserError("expected a box with low ≤ high, got a lower bound above the upper bound: swap low and high")
    # For a pair (j, k), as λ goes from −∞ to ∞, the optimal x_i jumps from one end of its interval to the other at λ_i.
    rising = w > 0
    first, last = torch.where(rising, low, high), torch.where(rising, high, low)
    jump = w * (last - first)  # ≥ 0, the increase of w_jᵀx when x_i jumps
    start, end = b + (w * first).sum(1), b + (w * last).sum(1)  # the range of w_jᵀx + b_j over the box
    kinks = torch.where((w != 0).unsqueeze(1), -w_k / w.where(w != 0, 1).unsqueeze(1), torch.inf)
    order = kinks.argsort(-1)
    reached = start[:, None, None] + jump.unsqueeze(1).expand_as(kinks).gather(-1, order).cumsum(-1)
    # The optimum is at the first kink after which w_jᵀx + b_j ≥ 0: coordinates with earlier kinks have jumped.
    place = (reached < 0).sum(-1, keepdim=True).clamp(max=d - 1)
    rank = order.argsort(-1)
    jumped, pivot = rank < place, rank == place
    free = torch.where(w_k > 0, high, low)  # for coordinates with w_{j,i} = 0
    ends = torch.where(jumped, last.unsqueeze(1), first.unsqueeze(1))
    x = torch.where((w != 0).unsqueeze(1), ends, free)
    # The coordinate of that kink is chosen such that w_jᵀx + b_j = 0.
    rest = b[:, None] + torch.einsum("jd,jkd->jk", w, x.where(~pivot, 0))
    slope = (w.unsqueeze(1).expand_as(x) * pivot).sum(-1)
    solved = torch.where(slope != 0, -rest / slope.where(slope != 0, 1), 0).unsqueeze(-1)
    x = torch.where(pivot & (slope != 0).unsqueeze(-1), solved, x)
    value = b_k + (w_k * x).sum(-1)
    meets = (start <= 0) & (end >= 0) & (w != 0).any(1)
    return value.where(meets.unsqueeze(1), -torch.inf)


@instrument(source="SS definition 5", ids=("SS.D",))
def band_counts(nodes: Nodes, x: Float[Tensor, "N d"], epsilon: float) -> Int[Tensor, " m"]:
    """The number of points N_D[I_j(ε)] in the band |w̃_jᵀx + b_j| ≤ ε of every node, scaled to be regular (‖w̃_j‖ = 1).

    Args:
        nodes: Nodes j, with weights (m, d) and biases (m,).
        x: Points, (N, d).
        epsilon: ε, half the width of the band.

    >>> band_counts(Nodes(torch.tensor([[2.0]]), torch.zeros(1)), torch.tensor([[0.0], [0.5], [1.0]]), 0.5).tolist()
    [2]
    """
    return in_band(nodes, x, epsilon).sum(0)


@instrument(source="SS theorem 3, condition 1", ids=("SS.D", "SS.T3"))
def kappa(nodes: Nodes, others: Nodes, x: Float[Tensor, "N d"], epsilon: float) -> Float[Tensor, "m n"]:
    """The share of the points in the band of node j at which node k is active, κ_jk = N_D[I_j(ε) ∩ E_k] / N_D[I_j(ε)].

    The share is 0 if the band is empty.

    Args:
        nodes: Nodes j, with weights (m, d) and biases (m,).
        others: Nodes k, with weights (n, d) and biases (n,).
        x: Points, (N, d).
        epsilon: ε, half the width of the band.

    >>> first, second = (Nodes(axis[None], torch.zeros(1)) for axis in torch.eye(2))
    >>> kappa(first, second, torch.tensor([[0.0, 1.0], [0.1, -1.0], [2.0, 1.0]]), 0.5).tolist()
    [[0.5]]
    """
    band, active = in_band(nodes, x, epsilon).to(x.dtype), (x @ others.w.T + others.b > 0).to(x.dtype)
    return (band.T @ active) / band.sum(0).clamp(min=1)[:, None]


def in_band(nodes: Nodes, x: Tensor, epsilon: float) -> Bool[Tensor, "N m"]:
    """Return whether each point lies in the band I_j(ε), |w̃_jᵀx + b_j| ≤ ε; the band of a zero node is empty.

    Args:
        nodes: Nodes j, with weights (m, d) and biases (m,).
        x: Points, (N, d).
        epsilon: ε, half the width of the band.
    """
    u, c = regular(nodes)
    if x.shape[1] != u.shape[1]:
        raise UserError(
            f"expected points of {u.shape[1]} entries, the number of inputs of the nodes, got {x.shape[1]}: use points "
            "of the same dimension"
        )
    return ((x @ u.T + c).abs() <= epsilon) & (u.abs().amax(1) > 0)
