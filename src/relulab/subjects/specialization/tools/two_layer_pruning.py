"""Pruning of two-layer networks: merge nodes that share a hyperplane, then drop groups (SS theorem 2, corollary 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.short_repr import counted
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.groups import Groups, groups, two_layer
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regular
from relulab.subjects.specialization.tools.ranking import CHUNK, Ranking, by_contribution, by_refit

EPSILON = 1e-6  # alignment error up to which nodes are merged by default
FOLLOWS = 0.2  # a group with at most this alignment error follows a teacher node


class Size(NamedTuple):
    """What a number of kept nodes costs.

    ``lost`` is the share of the variance of the outputs that is lost, and ``agree`` the share of points at which the
    largest output stays the same (None for a single output).
    """

    kept: int
    lost: float
    agree: float | None


@dataclass(frozen=True)
class Pruned:
    """A pruned network and the change of its outputs.

    ``kept`` are the groups that are kept, and ``sizes`` what other numbers of nodes cost at the points on which the
    size is chosen. ``lost`` and ``agree`` are the costs of ``net`` at the test points, as in ``Size``. ``largest`` is
    the largest change of an output there, and ``bound`` an upper bound on any change in the box spanned by all points.
    """

    net: MLP
    groups: Groups
    kept: list[int]
    sizes: list[Size]
    lost: float
    agree: float | None
    largest: float
    bound: float

    def __repr__(self) -> str:
        nodes = f"{counted(len(self.groups.of), 'node')} in {counted(len(self.groups), 'group')}"
        change = f"largest change {self.largest:.2g}, at most {self.bound:.2g}"
        return f"Pruned({self.net!r} from {nodes}: lost {self.lost:.2g} of the variance, {change})"


def prune_two_layers(
    net: nn.Module,
    x: Float[Tensor, "N d"],
    *,
    epsilon: float = EPSILON,
    keep: int | None = None,
    tolerance: float = 0.01,
    teacher: nn.Module | None = None,
    refit: bool = True,
    choose: Float[Tensor, "K d"] | None = None,
    test: Float[Tensor, "M d"] | None = None,
) -> Pruned:
    """Merge ε-aligned nodes and keep as few groups as possible, such that the outputs hardly change.

    With a refit, the output weights of the pruned network are fitted by least squares, and groups are dropped one by
    one, each time the one without which the fit is best. Without, groups are ranked by ‖a_s‖ times the root mean square
    of σ(u_sᵀx + b_s) and keep their output weights. With a teacher, the group nearest to each of its nodes comes before
    all others, if the alignment error is at most 0.2 (or ε, if that is larger).

    Two groups on opposite sides of a hyperplane add a bend and a linear function, a σ(z) + a'σ(−z) =
    (a + a') σ(z) − (1 + slope) a' z. Linear functions of different hyperplanes depend on each other if there are more
    than d of them. The refit uses this: then one of two opposite groups is dropped without any loss.

    Args:
        net: One two-layer (leaky) ReLU network. It is not changed.
        x: Points, (N, d), at least 2, on which groups are selected and weights are fitted.
        epsilon: The alignment error ε up to which nodes are merged, at least 0.
        keep: Number of groups to keep, at least 1. None keeps as few as possible within ``tolerance``.
        tolerance: Share of the variance of the outputs that may be lost, from 0 to below 1.
        teacher: A network. The groups nearest to its nodes are kept first. None ranks all groups in the same way.
        refit: Whether to fit the output weights of the pruned network to the old outputs.
        choose: Other points, (K, d), on which the number of groups is chosen. None uses the test points, which makes
            the costs of the chosen number look somewhat lower than they are.
        test: Other points, (M, d), on which the costs of the pruned network are measured. None uses ``x``.
    """
    net = two_layer(net)
    x, test = _points(net, x), _points(net, x if test is None else test)
    choose = test if choose is None else _points(net, choose)
    if keep is not None and keep < 1:
        raise UserError(f"expected keep to be at least 1, got {keep}")
    if not 0 <= tolerance < 1:
        raise UserError(f"expected a tolerance from 0 to below 1, a share of the variance, got {tolerance}")
    grouped = groups(net, epsilon)
    if not len(grouped):
        raise UserError("all hidden nodes have zero weights, so the network is constant: there is nothing to prune")
    first = _followers(grouped, teacher, x, epsilon)
    ranking = by_refit(grouped, x, _outputs(net, x), first) if refit else by_contribution(grouped, x, first)
    costs, measured = (_Costs(ranking, part, _outputs(net, part)) for part in (choose, test))
    most = len(ranking.order)
    count = min(keep, most) if keep else costs.fewest(tolerance)
    small = _assembled(ranking, count, net)
    chosen = measured.at([count])[0]
    sizes = costs.at(sorted({*_spread(1, most), count}))
    largest = float((_outputs(small, test) - measured.y).abs().max())
    kept = ranking.order[:count]
    return Pruned(
        small, grouped, kept.tolist(), sizes, chosen.lost, chosen.agree, largest,
        _bound(net, grouped, kept, small, torch.cat([x, choose, test])),
    )  # fmt: skip


def _points(net: MLP, x: Tensor) -> Float[Tensor, "N d"]:
    x = points(x).double()
    if x.dim() != 2 or x.shape[1] != net.widths[0]:
        raise UserError(f"points have shape {tuple(x.shape)}: expected (points, inputs) with {net.widths[0]} inputs")
    if len(x) < 2:
        raise UserError(f"expected at least 2 points to compute a variance, got {len(x)}")
    return x


@torch.no_grad()
def _outputs(net: MLP, x: Tensor) -> Float[Tensor, "N C"]:
    return torch.cat([net(part)[0] for part in x.split(CHUNK)])


def _spread(low: int, high: int, steps: int = 24) -> list[int]:
    """About ``steps`` integers from low to high, with logarithmic spacing."""
    return sorted({round(n) for n in torch.logspace(0, 1, steps, base=high / low).mul(low).tolist()})


def _followers(grouped: Groups, teacher: nn.Module | None, x: Tensor, epsilon: float) -> Int[Tensor, " k"]:
    """Return the groups that follow a node of the teacher."""
    if teacher is None:
        return torch.empty(0, dtype=torch.long, device=x.device)
    star = lowest(teacher)
    if star.w.shape[1] != x.shape[1]:
        raise UserError(f"the teacher has {star.w.shape[1]} inputs, but the points have {x.shape[1]}: they must agree")
    error, group = alignment(star, grouped.nodes).min(1)
    return group[error <= max(epsilon, FOLLOWS)].unique()


class _Costs:
    """What it costs to keep only the first groups of a ranking, at the points x with outputs y."""

    def __init__(self, ranking: Ranking, x: Tensor, y: Tensor):
        self.ranking, self.x, self.y = ranking, x, y
        self.variance = float((y - y.mean(0)).square().sum())
        if not self.variance > 0:
            raise UserError("the output of the network is the same on all points: use points on which it varies")
        self.several = y.shape[1] > 1

    def at(self, counts: Sequence[int]) -> list[Size]:
        """Return the costs for each number of groups, in ascending order."""
        lost, agree = [0.0] * len(counts), [0] * len(counts)
        for x, y in zip(self.x.split(CHUNK), self.y.split(CHUNK), strict=True):
            features, output = self.ranking.features(x), self.ranking.constant.expand_as(y)
            for i, (start, end) in enumerate(pairwise((0, *counts))):
                output = output + features[:, start:end] @ self.ranking.coefficients[start:end]
                lost[i] += float((output - y).square().sum())
                agree[i] += int((output.argmax(1) == y.argmax(1)).sum())
        return [
            Size(n, a / self.variance, b / len(self.x) if self.several else None)
            for n, a, b in zip(counts, lost, agree, strict=True)
        ]

    def fewest(self, tolerance: float) -> int:
        """A number of groups that loses at most ``tolerance``, while one group fewer loses more."""
        low, high = 1, len(self.ranking.order)
        while True:
            counts = _spread(low, high) if high - low > 24 else list(range(low, high + 1))
            enough = next((size.kept for size in self.at(counts) if size.lost <= tolerance), None)
            if enough is None:
                return high  # merging alone loses more
            low, high = max((n for n in counts if n < enough), default=low - 1) + 1, enough
            if low == high:
                return high


def _assembled(ranking: Ranking, count: int, net: MLP) -> MLP:
    small = MLP((net.widths[0], count, net.widths[-1]), slope=net.slope, dtype=torch.float64)
    small.W[0].data[0], small.b[0].data[0, 0] = ranking.nodes.w[:count].T, ranking.nodes.b[:count]
    small.W[1].data[0], small.b[1].data[0, 0] = ranking.top(count)
    return small


def _bound(net: MLP, grouped: Groups, kept: Tensor, small: MLP, x: Tensor) -> float:
    """An upper bound on the change of any output in the box spanned by the data.

    Since the (leaky) ReLU is 1-Lipschitz, merging node k changes the output by at most |v_k|‖w_k‖ |Δuᵀx + Δb|. Changing
    the output weights of group s by Δa_s, which is −a_s if it is dropped, changes it by at most |Δa_s| max |σ(u_sᵀx +
    b_s)|. Both are largest at corners of the box. The change of the output bias and the rounding errors of both
    networks are added.
    """
    box = Box.of(x)
    nodes, v = lowest(net), net.W[1].data[0]
    alive = grouped.of >= 0
    merged, u = Nodes(*(t[grouped.of[alive]] for t in grouped.nodes)), regular(Nodes(*(t[alive] for t in nodes)))
    merging = box.reach(Nodes(u.w - merged.w, u.b - merged.b)).abs().amax(0) * nodes.w[alive].norm(dim=1)
    weights = torch.zeros_like(grouped.a)
    weights[kept] = small.W[1].data[0]
    largest = nn.functional.leaky_relu(box.reach(grouped.nodes), net.slope).abs().amax(0)
    change = merging @ v[alive].abs() + largest @ (grouped.a - weights).abs()
    change = change + (grouped.c - small.b[1].data[0, 0]).abs()
    corner = torch.maximum(box.low.abs(), box.high.abs())[None]
    with torch.no_grad():
        size = absolute(net)(corner)[0, 0] + absolute(small)(corner)[0, 0]
    return float((change + 4 * sum(net.widths) * torch.finfo(x.dtype).eps * size).max())
