"""Pairs of points in the same linear region of two networks, and the top-down matrices there (SS corollary 2)."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.top_down import modulation, top_down_layers

HALVINGS = 60  # of a distance: more than the digits of a float64
CLOSE = 40  # halvings after which two points are next to a boundary, while rounding does not decide on the gates

Pattern = Callable[[Tensor], Bool[Tensor, "lane N units"]]


class Compared(NamedTuple):
    """The largest difference between top-down matrices at pairs of points."""

    pairs: int
    """number of pairs of points"""
    gap: float
    """the difference, at the entry where it is largest relative to the allowance; NaN without pairs"""
    allowance: float
    """allowance for rounding of this entry"""


@torch.no_grad()
def compare_regions(teacher: MLP, student: MLP, x: Float[Tensor, "lane N d"], across: bool = False) -> Compared:
    """Compare V_l, V*_l, A_l and B_l of all hidden layers between two points of one linear region.

    In a region, all units of both networks keep their gates. The partner of a point lies on the way to the next point
    of x. It is found by halving the distance until all gates agree. The last point is paired with the opposite of the
    first one.

    Args:
        teacher: The teachers.
        student: As many students with the same inputs, outputs and depth.
        x: Points, (lane, N, d), in float64.
        across: Whether to compare points on both sides of a boundary instead, where a gate above layer 1 changes.
    """
    y = torch.cat([x[:, 1:], -x[:, :1]], 1)

    def pattern(points: Tensor, lowest: int = 1 if across else 0) -> Bool[Tensor, "lane N units"]:
        hidden = [f > 0 for net in (teacher, student) for f in net.layers(points)[lowest:-1]]
        return torch.cat(hidden, -1) if hidden else points.new_zeros(*points.shape[:2], 0, dtype=torch.bool)

    x, y, paired = _across(pattern, x, y) if across else _within(pattern, x, y)
    if not paired.any():
        return Compared(0, float("nan"), 0.0)
    return Compared(int(paired.sum()), *_differences(teacher, student, x, y, paired))


def _within(pattern: Pattern, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Bool[Tensor, "lane N"]]:
    """Move y toward x until they are in one region. A point on a boundary may have no partner."""
    here = pattern(x)
    for _ in range(HALVINGS):
        same = (pattern(y) == here).all(-1)
        if same.all():
            break
        y = torch.where(same.unsqueeze(-1), y, x + (y - x) / 2)
    return x, y, (pattern(y) == here).all(-1) & (y != x).any(-1)


def _across(pattern: Pattern, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Bool[Tensor, "lane N"]]:
    """Move x and y toward each other until they are next to a boundary between them."""
    here = pattern(x)
    for _ in range(CLOSE):
        middle = x + (y - x) / 2
        same = (pattern(middle) == here).all(-1, keepdim=True)
        x, y = torch.where(same, middle, x), torch.where(same, y, middle)
    return x, y, (pattern(y) != here).any(-1)


def _differences(teacher: MLP, student: MLP, x: Tensor, y: Tensor, paired: Tensor) -> tuple[float, float]:
    """The difference that is largest relative to its allowance, and the allowance.

    The allowance is that of SS.L1, with the matrices of the networks with absolute weights and open gates as bounds.
    """
    one = x.new_ones(1, x.shape[-1])
    here, there = ([top_down_layers(net, points) for net in (student, teacher)] for points in (x, y))
    bounds = [top_down_layers(absolute(net), one) for net in (student, teacher)]
    K_eps = 2 * (sum(student.widths) + sum(teacher.widths)) * torch.finfo(x.dtype).eps
    worst = (0.0, 0.0, 0.0)
    for l in range(student.depth - 1):
        at_x, at_y, bound = ([side[l].V for side in sides] for sides in (here, there, bounds))
        for a, b, c in zip(*([*V, *modulation(*V)] for V in (at_x, at_y, bound)), strict=True):
            gap, allowance = (a - b).abs()[paired], (K_eps / (1 - K_eps) * c.expand_as(a))[paired]
            ratio = gap / allowance.clamp(min=torch.finfo(x.dtype).tiny)
            i = int(ratio.argmax())
            worst = max(worst, tuple(float(t.flatten()[i]) for t in (ratio, gap, allowance)))
    return worst[1], worst[2]
