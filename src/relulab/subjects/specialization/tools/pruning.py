"""Pruning two-layer networks: nodes of one hyperplane merge, groups that add nothing go (SS theorem 2, corollary 1)."""

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

FOLLOWS = 0.2  # alignment up to which a group counts as following a teacher node
CHUNK = 5000  # points at a time, so that memory does not grow with the data


@dataclass(frozen=True)
class Pruned:
    """What is left of a network, and what that changed.

    ``curve`` has a row (kept nodes, share of the output's variance that is lost) for some numbers of kept nodes;
    ``lost`` is that share for ``net`` itself, ``largest`` the largest change of an output on the data, and ``bound`` a
    bound on any change of an output within the box of the data, before a refit.
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
    """Merges nodes that are ε-aligned, then keeps the groups that matter on the points x.

    Groups are ranked by ‖a_s‖ · rms of σ(u_sᵀx + b_s), and, with a teacher, the group nearest to each of its nodes, if
    they are aligned up to 0.2 (or ε, if that is more), before all others.

    Args:
        net: One two-layer ReLU network; it stays as it is.
        x: Points, (N, d), at least 2, on which groups are judged.
        epsilon: The alignment error ε up to which nodes merge, at least 0.
        keep: How many groups to keep, at least 1. None keeps as few as lose no more than ``tolerance``.
        tolerance: Share of the output's variance that may be lost before a refit, from 0 to below 1.
        teacher: A network whose nodes' nearest groups are kept before all others. None ranks all groups alike.
        refit: Whether the top weights of what is left are fitted to the old outputs by least squares.

    >>> net = MLP((1, 3, 1), dtype=torch.float64)
    >>> net.W[0].data[0], net.W[1].data[0] = torch.tensor([[1.0, 2.0, -1.0]]), torch.tensor([[4.0], [-2.0], [1.0]])
    >>> prune(net, torch.linspace(-1, 1, 9)[:, None]).net.widths
    (1, 1, 1)
    """
    net, x = two_layer(net), points(x).double()
    if x.dim() != 2 or x.shape[1] != net.widths[0]:
        raise UserError(f"points of shape {tuple(x.shape)} for a network of {net.widths[0]} inputs")
    if len(x) < 2:
        raise UserError(f"{len(x)} points: a variance needs at least 2")
    if keep is not None and keep < 1:
        raise UserError(f"keep {keep}: at least one node must stay")
    if not 0 <= tolerance < 1:
        raise UserError(f"tolerance {tolerance}: a share of the variance from 0 to below 1")
    found = groups(net, epsilon)
    if not len(found):
        raise UserError("all hidden nodes have zero weights: the network is a constant")
    with torch.no_grad():
        y = torch.cat([net(part)[0] for part in x.split(CHUNK)])
    variance = float((y - y.mean(0)).square().sum() / len(x))
    if not variance > 0:
        raise UserError("the network puts out the same on all points, as if all units were dead: nothing to explain")
    order = _ranked(found, x, teacher, epsilon)
    counts = sorted({*_spread(1, len(found)), min(keep or 1, len(found))})
    losses = dict(zip(counts, _losses(found, order, x, y, counts).tolist(), strict=True))
    count = min(keep, len(found)) if keep else _fewest(losses, found, order, x, y, tolerance * variance)
    small = _assembled(found, order[:count], net)
    bound = _bound(net, found, order[:count], x)
    if refit:
        refit_in_parts(small, x, y, CHUNK)
    lost, largest = _change(small, x, y)
    curve = [(n, loss / variance) for n, loss in losses.items()]
    return Pruned(small, found, order[:count].tolist(), curve, lost / variance, largest, bound)


def _spread(low: int, high: int, steps: int = 24) -> list[int]:
    """About so many whole numbers from low to high, closer together where they are small."""
    return sorted({round(n) for n in torch.logspace(0, 1, steps, base=high / low).mul(low).tolist()})


def _ranked(found: Groups, x: Tensor, teacher: nn.Module | None, epsilon: float) -> Int[Tensor, " s"]:
    """Groups by what they add to the output on the points, the most first."""
    square = x.new_zeros(len(found.nodes.b))
    for part in x.split(CHUNK):
        square = square + _activations(found.nodes, part).square().sum(0)
    square = square / len(x)
    adds = found.a.norm(dim=1) * square.sqrt()
    if teacher is not None:
        star = lowest(teacher)
        if star.w.shape[1] != x.shape[1]:
            raise UserError(f"a teacher of {star.w.shape[1]} inputs for points of {x.shape[1]}")
        near, group = alignment(star, found.nodes).min(1)
        first = group[near <= max(epsilon, FOLLOWS)].unique()
        adds[first] += 1 + adds.max()
    return adds.argsort(descending=True, stable=True)


def _activations(nodes: Nodes, x: Tensor) -> Float[Tensor, "N s"]:
    return (x @ nodes.w.T + nodes.b).clamp_(min=0)


def _losses(found: Groups, order: Tensor, x: Tensor, y: Tensor, counts: Sequence[int]) -> Float[Tensor, " k"]:
    """Mean square change of the output when only the first so many groups stay: one pass, since the sets are nested."""
    total, nodes = x.new_zeros(len(counts)), Nodes(*(t[order] for t in found.nodes))
    for part, left in zip(x.split(CHUNK), (y - found.c).split(CHUNK), strict=True):
        f = _activations(nodes, part)
        for i, (start, end) in enumerate(pairwise((0, *counts))):
            left = left - f[:, start:end] @ found.a[order[start:end]]
            total[i] += left.square().sum()
    return total / len(x)


def _fewest(losses: dict[int, float], found: Groups, order: Tensor, x: Tensor, y: Tensor, most: float) -> int:
    """A number of groups that changes the output by no more than ``most``, one less of which would not do."""
    while True:
        high = next((n for n, loss in losses.items() if loss <= most), None)
        if high is None:
            return len(found)  # merging itself changes more
        low = max((n for n in losses if n < high), default=0) + 1
        if low == high:
            return high
        counts = _spread(low, high) if high - low > 24 else list(range(low, high + 1))
        losses = dict(zip(counts, _losses(found, order, x, y, counts).tolist(), strict=True))


def _assembled(found: Groups, kept: Tensor, net: MLP) -> MLP:
    small = MLP((net.widths[0], len(kept), net.widths[-1]), dtype=torch.float64)
    small.W[0].data[0], small.b[0].data[0, 0] = found.nodes.w[kept].T, found.nodes.b[kept]
    small.W[1].data[0], small.b[1].data[0, 0] = found.a[kept], found.c
    return small


def _bound(net: MLP, found: Groups, kept: Tensor, x: Tensor) -> float:
    """How much any output can change within the box of the data.

    A member k of a group s changes by |v_k|‖w_k‖ |Δuᵀx + Δb| at most, ReLU being 1-Lipschitz, and a dropped group by
    |a_s| max σ(u_sᵀx + b_s); both are largest at corners of the box. The rounding of both networks' outputs is added.
    """
    box = Box.of(x)
    nodes, v = lowest(net), net.W[1].data[0]
    alive = found.of >= 0
    mine, u = Nodes(*(t[found.of[alive]] for t in found.nodes)), regular(Nodes(*(t[alive] for t in nodes)))
    merging = box.reach(Nodes(u.w - mine.w, u.b - mine.b)).abs().amax(0) * nodes.w[alive].norm(dim=1)
    dropped = torch.ones(len(found), dtype=torch.bool, device=x.device)
    dropped[kept] = False
    change = merging @ v[alive].abs() + box.reach(found.nodes)[1].clamp(min=0)[dropped] @ found.a[dropped].abs()
    with torch.no_grad():
        size = absolute(net)(torch.maximum(box.low.abs(), box.high.abs())[None])[0, 0]
    return float((change + 4 * sum(net.widths) * torch.finfo(x.dtype).eps * size).max())


@torch.no_grad()
def _change(small: MLP, x: Tensor, y: Tensor) -> tuple[float, float]:
    """Mean square and largest change of the outputs."""
    gaps = [small(part)[0] - its for part, its in zip(x.split(CHUNK), y.split(CHUNK), strict=True)]
    return float(sum(gap.square().sum() for gap in gaps) / len(x)), float(max(gap.abs().max() for gap in gaps))
