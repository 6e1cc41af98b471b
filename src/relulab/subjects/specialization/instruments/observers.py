"""Observers: nodes that are active somewhere on the boundary of another node (SS definition 4, section 5)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.lab.instrument import instrument
from relulab.subjects.specialization.tools.nodes import Nodes, regular

CHUNK = 1 << 22  # numbers per pass over pairs of nodes


@instrument(source="SS definition 4", ids=("SS.D", "SS.T1"))
def observers(nodes: Nodes, others: Nodes, low: Float[Tensor, " d"], high: Float[Tensor, " d_"]) -> Bool[Tensor, "m n"]:
    """Return whether node k is active somewhere on the boundary of node j within the box low ≤ x ≤ high.

    The result is exact: max {w_kᵀx + b_k : w_jᵀx + b_j = 0, low ≤ x ≤ high} > 0 is a linear program with one equation
    (``sight``). A node whose boundary does not meet the box has no observers.

    Args:
        nodes: Nodes j that are observed, for instance ``lowest(teacher)``, with weights (m, d) and biases (m,).
        others: Nodes k that observe, for instance ``lowest(student)``, with weights (n, d) and biases (n,).
        low: Lower bounds of the box, (d,).
        high: Upper bounds of the box, (d,).

    Returns:
        Whether node k observes node j, (m, n).

    >>> axes, corner = Nodes(torch.eye(2), torch.zeros(2)), Nodes(torch.ones(1, 2), torch.tensor([-0.5]))
    >>> observers(axes, corner, -torch.ones(2), torch.ones(2)).tolist()
    [[True], [True]]
    """
    return active_on(nodes, others, low, high)


def active_on(
    nodes: Nodes, others: Nodes, low: Float[Tensor, " d"], high: Float[Tensor, " d_"], above: float = 0.0
) -> Bool[Tensor, "m n"]:
    """Return whether w_kᵀx + b_k exceeds ``above`` somewhere on the boundary of node j within a box.

    Most pairs are decided by matrix products, the others by ``sight``. The boundary crosses the segment from the corner
    where w_kᵀx + b_k is largest to the corner that is farthest on the other side of the boundary. The value at the
    crossing is a lower bound.

    Args:
        nodes: Nodes j, with weights (m, d) and biases (m,).
        others: Nodes k, with weights (n, d) and biases (n,).
        low: Lower bounds of the box, (d,).
        high: Upper bounds of the box, (d,).
        above: The value to exceed.
    """
    (w, b), (w_k, b_k) = _checked(nodes, others, low, high)
    half, middle = (high - low) / 2, low + (high - low) / 2
    at, at_k = w @ middle + b, w_k @ middle + b_k
    reach, reach_k = w.abs() @ half, w_k.abs() @ half
    meets = (reach >= at.abs()) & (w != 0).any(1)
    best_k = at_k + reach_k  # the largest value of node k in the box
    here = at[:, None] + (w * half) @ w_k.sign().T  # node j at the corner where node k is largest
    side = -here.sign()
    there = at[:, None] + side * reach[:, None]  # node j at its extreme corner on the other side
    best_there = at_k + side * (w.sign() @ (w_k * half).T)  # node k at that corner
    step = torch.where(here == 0, 0, here / (here - there).where(here != there, 1)).clamp(0, 1)
    lower = best_k + step * (best_there - best_k)
    rounding = 8 * (w.shape[1] + 4) * torch.finfo(w.dtype).eps * (at_k.abs() + reach_k + abs(above))
    decided = meets[:, None] & (lower > above + rounding)
    open_pairs = (meets[:, None] & ~decided & (best_k > above)).nonzero()
    for pairs in open_pairs.split(max(1, CHUNK // w.shape[1])):
        j, k = pairs.unbind(1)
        decided[j, k] = _sight(Nodes(w[j], b[j]), Nodes(w_k[k], b_k[k]), low, high) > above
    return decided


def sight(nodes: Nodes, others: Nodes, low: Float[Tensor, " d"], high: Float[Tensor, " d_"]) -> Float[Tensor, "m n"]:
    r"""The largest w_kᵀx + b_k on the boundary of node j within a box; −∞ if the boundary does not meet the box.

    By duality, this linear program is the minimum of a convex piecewise linear function of one variable,

        min_λ  b_k + λ b_j + Σ_i max(low_i c_i, high_i c_i),   c = w_k + λ w_j,

    with kinks at λ_i = −w_{k,i}/w_{j,i}. The minimum is at the kink where the slope changes sign.

    Args:
        nodes: Nodes j, for instance ``lowest(teacher)``, with weights (m, d) and biases (m,).
        others: Nodes k, for instance ``lowest(student)``, with weights (n, d) and biases (n,).
        low: Lower bounds of the box, (d,).
        high: Upper bounds of the box, (d,).
    """
    (w, b), (w_k, b_k) = _checked(nodes, others, low, high)
    m, n = len(b), len(b_k)
    value = w.new_empty(m * n)
    for pairs in torch.arange(m * n, device=w.device).split(max(1, CHUNK // w.shape[1])):
        j, k = pairs // n, pairs % n
        value[pairs] = _sight(Nodes(w[j], b[j]), Nodes(w_k[k], b_k[k]), low, high)
    return value.view(m, n)


def _checked(nodes: Nodes, others: Nodes, low: Tensor, high: Tensor) -> tuple[Nodes, Nodes]:
    """Return the nodes, or raise an error if they or the box do not fit together."""
    d, d_k = nodes.w.shape[1], others.w.shape[1]
    if not d == d_k == len(low) == len(high):
        raise UserError(
            f"expected nodes and box of the same dimension, got nodes with {d} and {d_k} inputs and a box "
            f"with {len(low)} lower and {len(high)} upper bounds: use the same inputs for all"
        )
    if not (low <= high).all():
        raise UserError("expected a box with low ≤ high, got a lower bound above the upper bound: swap low and high")
    return nodes, others


def _sight(nodes: Nodes, others: Nodes, low: Tensor, high: Tensor) -> Float[Tensor, " p"]:
    """Solve the linear program of ``sight`` for pairs of nodes: row i of ``nodes`` with row i of ``others``."""
    (w, b), (w_k, b_k), d = nodes, others, nodes.w.shape[1]
    # As λ goes from −∞ to ∞, the optimal x_i jumps from one end of its interval to the other at λ_i.
    rising, fixed = w > 0, w == 0
    first, last = torch.where(rising, low, high), torch.where(rising, high, low)
    jump = w * (last - first)  # ≥ 0, the increase of w_jᵀx when x_i jumps
    start, end = b + (w * first).sum(1), b + (w * last).sum(1)  # the range of w_jᵀx + b_j over the box
    kinks = torch.where(fixed, torch.inf, -w_k / w.where(~fixed, 1))
    order = kinks.argsort(-1)
    reached = start[:, None] + jump.gather(-1, order).cumsum(-1)
    # The optimum is at the first kink after which w_jᵀx + b_j ≥ 0: coordinates with earlier kinks have jumped.
    place = (reached < 0).sum(-1, keepdim=True).clamp(max=d - 1)
    rank = order.argsort(-1)
    jumped, pivot = rank < place, rank == place
    # A coordinate with w_{j,i} = 0 is free: it takes the end that is better for node k.
    x = torch.where(fixed, torch.where(w_k > 0, high, low), torch.where(jumped, last, first))
    # The coordinate of that kink is chosen such that w_jᵀx + b_j = 0.
    rest, slope = b + (w * x.where(~pivot, 0)).sum(-1), (w * pivot).sum(-1)
    solved = torch.where(slope != 0, -rest / slope.where(slope != 0, 1), 0)[:, None]
    x = torch.where(pivot & (slope != 0)[:, None], solved, x)
    meets = (start <= 0) & (end >= 0) & ~fixed.all(1)
    return (b_k + (w_k * x).sum(-1)).where(meets, -torch.inf)


@instrument(source="SS definition 5", ids=("SS.D",))
def band_counts(nodes: Nodes, x: Float[Tensor, "N d"], epsilon: float) -> Int[Tensor, " m"]:
    """The number of points N_D[I_j(ε)] in the band |w̃_jᵀx + b_j| ≤ ε of every node, scaled to be regular (‖w̃_j‖ = 1).

    Args:
        nodes: Nodes j, for instance ``lowest(teacher)``, with weights (m, d) and biases (m,).
        x: Points, (N, d).
        epsilon: ε, half the width of the band, at least 0.

    >>> band_counts(Nodes(torch.tensor([[2.0]]), torch.zeros(1)), torch.tensor([[0.0], [0.5], [1.0]]), 0.5).tolist()
    [2]
    """
    return in_band(nodes, x, epsilon).sum(0)


@instrument(source="SS theorem 3, condition 1", ids=("SS.D", "SS.T3"))
def kappa(nodes: Nodes, others: Nodes, x: Float[Tensor, "N d"], epsilon: float) -> Float[Tensor, "m n"]:
    """The share of the points in the band of node j at which node k is active, κ_jk = N_D[I_j(ε) ∩ E_k] / N_D[I_j(ε)].

    The share is 0 if the band is empty.

    Args:
        nodes: Nodes j, for instance ``lowest(teacher)``, with weights (m, d) and biases (m,).
        others: Nodes k, for instance ``lowest(student)``, with weights (n, d) and biases (n,).
        x: Points, (N, d).
        epsilon: ε, half the width of the band, at least 0.

    >>> first, second = (Nodes(axis[None], torch.zeros(1)) for axis in torch.eye(2))
    >>> kappa(first, second, torch.tensor([[0.0, 1.0], [0.1, -1.0], [2.0, 1.0]]), 0.5).tolist()
    [[0.5]]
    """
    band, active = in_band(nodes, x, epsilon).to(x.dtype), (x @ others.w.T + others.b > 0).to(x.dtype)
    return (band.T @ active) / band.sum(0).clamp(min=1)[:, None]


def in_band(nodes: Nodes, x: Tensor, epsilon: float) -> Bool[Tensor, "N m"]:
    """Return whether each point lies in the band I_j(ε), |w̃_jᵀx + b_j| ≤ ε; the band of a zero node is empty.

    Args:
        nodes: Nodes j, for instance ``lowest(teacher)``, with weights (m, d) and biases (m,).
        x: Points, (N, d).
        epsilon: ε, half the width of the band, at least 0.
    """
    at_least(0, epsilon=epsilon)
    u, c = regular(nodes)
    if x.shape[1] != u.shape[1]:
        raise UserError(
            f"expected points of {u.shape[1]} entries, the number of inputs of the nodes, got {x.shape[1]}: use points "
            "of the same dimension"
        )
    return ((x @ u.T + c).abs() <= epsilon) & (u.abs().amax(1) > 0)
