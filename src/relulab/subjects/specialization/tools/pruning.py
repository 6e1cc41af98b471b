"""Pruning of two-layer networks: merge nodes that share a hyperplane, then drop groups (SS theorem 2, corollary 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.groups import Groups, groups, two_layer
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regular
from relulab.subjects.specialization.tools.refit import refit_in_parts

FOLLOWS = 0.2  # a group with at most this alignment error follows a teacher node
CHUNK = 5000  # points per pass, so that memory does not grow with the data


@dataclass(frozen=True)
class Pruned:
    """A pruned network and the change of its outputs.

    ``kept`` are the groups that are kept. ``curve`` has rows (number of kept nodes, share of the output variance lost).
    ``lost`` is this share for ``net``, after a refit if there was one. ``largest`` is the largest change of an output
    on the data, and ``bound`` an upper bound on it in the box spanned by the data, before a refit.
    """

    net: MLP
    groups: Groups
    kept: list[int]
    curve: list[tuple[int, float]]
    lost: float
    largest: float
    bound: float


def prune(
    net: nn.Module,
    x: Float[Tensor, "N d"],
    *,
    epsilon: float = 1e-6,
    keep: int | None = None,
    tolerance: float = 1e-12,
    teacher: nn.Module | None = None,
    refit: bool = False,
) -> Pruned:
    """Merge ε-aligned nodes and keep the groups that contribute most to the output on the points x.

    Groups are ranked by ‖a_s‖ times the root mean square of σ(u_sᵀx + b_s). With a teacher, the group nearest to each
    of its nodes comes before all others, if the alignment error is at most 0.2 (or ε, if that is larger).

    Args:
        net: One two-layer ReLU network. It is not changed.
        x: Points, (N, d), at least 2, on which contributions are measured.
        epsilon: The alignment error ε up to which nodes are merged, at least 0.
        keep: Number of groups to keep, at least 1. None keeps as few as possible within ``tolerance``.
        tolerance: Share of the output variance that may be lost before a refit, from 0 to below 1.
        teacher: A network. The groups nearest to its nodes are kept first. None ranks all groups in the same way.
        refit: Whether to fit the top weights of the pruned network to the old outputs by least squares.

    >>> net = MLP((1, 3, 1), dtype=torch.float64)
    >>> net.W[0].data[0], net.W[1].data[0] = torch.tensor([[1.0, 2.0, -1.0]]), torch.tensor([[4.0], [-2.0], [1.0]])
    >>> prune(net, torch.linspace(-1, 1, 9)[:, None]).net.widths
    (1, 1, 1)
    """
    net, x = two_layer(net), points(x).double()
    if x.dim() != 2 or x.shape[1] != net.widths[0]:
        raise UserError(f"points have shape {tuple(x.shape)}: expected (points, inputs) with {net.widths[0]} inputs")
    if len(x) < 2:
        raise UserError(f"expected at least 2 points to compute a variance, got {len(x)}")
    if keep is not None and keep < 1:
        raise UserError(f"expected keep to be at least 1, got {keep}")
    if not 0 <= tolerance < 1:
        raise UserError(f"expected a tolerance from 0 to below 1, a share of the variance, got {tolerance}")
    grouped = groups(net, epsilon)
    if not len(grouped):
        raise UserError("all hidden nodes have zero weights, so the network is constant: there is nothing to prune")
    with torch.no_grad():
        y = torch.cat([net(part)[0] for part in x.split(CHUNK)])
    variance = float((y - y.mean(0)).square().sum() / len(x))
    if not variance > 0:
        raise UserError("the output of the network is the same on all points: use points on which it varies")
    order = _ranked(grouped, x, teacher, epsilon)
    counts = sorted({*_spread(1, len(grouped)), min(keep or 1, len(grouped))})
    losses = dict(zip(counts, _losses(grouped, order, x, y, counts).tolist(), strict=True))
    count = min(keep, len(grouped)) if keep else _fewest(losses, grouped, order, x, y, tolerance * variance)
    small = _assembled(grouped, order[:count], net)
    bound = _bound(net, grouped, order[:count], x)
    if refit:
        refit_in_parts(small, x, y, CHUNK)
    lost, largest = _change(small, x, y)
    curve = [(n, loss / variance) for n, loss in losses.items()]
    return Pruned(small, grouped, order[:count].tolist(), curve, lost / variance, largest, bound)


def _spread(low: int, high: int, steps: int = 24) -> list[int]:
    """About ``steps`` integers from low to high, with logarithmic spacing."""
    return sorted({round(n) for n in torch.logspace(0, 1, steps, base=high / low).mul(low).tolist()})


def _ranked(grouped: Groups, x: Tensor, teacher: nn.Module | None, epsilon: float) -> Int[Tensor, " s"]:
    """Groups in decreasing order of their contribution to the output on the points."""
    square = x.new_zeros(len(grouped.nodes.b))
    for part in x.split(CHUNK):
        square = square + _activations(grouped.nodes, part).square().sum(0)
    square = square / len(x)
    contribution = grouped.a.norm(dim=1) * square.sqrt()
    if teacher is not None:
        star = lowest(teacher)
        if star.w.shape[1] != x.shape[1]:
            raise UserError(
                f"the teacher has {star.w.shape[1]} inputs, but the points have {x.shape[1]}: they must agree"
            )
        error, group = alignment(star, grouped.nodes).min(1)
        first = group[error <= max(epsilon, FOLLOWS)].unique()
        contribution[first] += 1 + contribution.max()
    return contribution.argsort(descending=True, stable=True)


def _activations(nodes: Nodes, x: Tensor) -> Float[Tensor, "N s"]:
    return (x @ nodes.w.T + nodes.b).clamp_(min=0)


def _losses(grouped: Groups, order: Tensor, x: Tensor, y: Tensor, counts: Sequence[int]) -> Float[Tensor, " k"]:
    """Mean square change of the output if only the first groups are kept, for each number in ``counts``."""
    total, nodes = x.new_zeros(len(counts)), Nodes(*(t[order] for t in grouped.nodes))
    for part, residual in zip(x.split(CHUNK), (y - grouped.c).split(CHUNK), strict=True):
        f = _activations(nodes, part)
        for i, (start, end) in enumerate(pairwise((0, *counts))):
            residual = residual - f[:, start:end] @ grouped.a[order[start:end]]
            total[i] += residual.square().sum()
    return total / len(x)


def _fewest(losses: dict[int, float], grouped: Groups, order: Tensor, x: Tensor, y: Tensor, most: float) -> int:
    """A number of groups for which the output changes by at most ``most``, while one group fewer changes it more."""
    while True:
        high = next((n for n, loss in losses.items() if loss <= most), None)
        if high is None:
            return len(grouped)  # merging alone changes the output more
        low = max((n for n in losses if n < high), default=0) + 1
        if low == high:
            return high
        counts = _spread(low, high) if high - low > 24 else list(range(low, high + 1))
        losses = dict(zip(counts, _losses(grouped, order, x, y, counts).tolist(), strict=True))


def _assembled(grouped: Groups, kept: Tensor, net: MLP) -> MLP:
    small = MLP((net.widths[0], len(kept), net.widths[-1]), dtype=torch.float64)
    small.W[0].data[0], small.b[0].data[0, 0] = grouped.nodes.w[kept].T, grouped.nodes.b[kept]
    small.W[1].data[0], small.b[1].data[0, 0] = grouped.a[kept], grouped.c
    return small


def _bound(net: MLP, grouped: Groups, kept: Tensor, x: Tensor) -> float:
    """An upper bound on the change of any output in the box spanned by the data.

    Since the ReLU is 1-Lipschitz, merging node k changes the output by at most |v_k|‖w_k‖ |Δuᵀx + Δb|. Dropping group s
    changes it by at most |a_s| max σ(u_sᵀx + b_s). Both are largest at corners of the box. The rounding errors of both
    networks are added.
    """
    box = Box.of(x)
    nodes, v = lowest(net), net.W[1].data[0]
    alive = grouped.of >= 0
    merged, u = Nodes(*(t[grouped.of[alive]] for t in grouped.nodes)), regular(Nodes(*(t[alive] for t in nodes)))
    merging = box.reach(Nodes(u.w - merged.w, u.b - merged.b)).abs().amax(0) * nodes.w[alive].norm(dim=1)
    dropped = torch.ones(len(grouped), dtype=torch.bool, device=x.device)
    dropped[kept] = False
    change = merging @ v[alive].abs() + box.reach(grouped.nodes)[1].clamp(min=0)[dropped] @ grouped.a[dropped].abs()
    with torch.no_grad():
        size = absolute(net)(torch.maximum(box.low.abs(), box.high.abs())[None])[0, 0]
    return float((change + 4 * sum(net.widths) * torch.finfo(x.dtype).eps * size).max())


@torch.no_grad()
def _change(small: MLP, x: Tensor, y: Tensor) -> tuple[float, float]:
    """Mean square and largest change of the outputs."""
    gaps = [small(x_)[0] - y_ for x_, y_ in zip(x.split(CHUNK), y.split(CHUNK), strict=True)]
    return float(sum(gap.square().sum() for gap in gaps) / len(x)), float(max(gap.abs().max() for gap in gaps))
