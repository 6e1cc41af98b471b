"""The largest gradient of a two-layer student on a box, exactly: piecewise linear functions peak at vertices."""

import math
from collections.abc import Iterator
from itertools import combinations, product

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import Creases
from relulab.subjects.specialization.tools.nodes import Nodes, lowest

MOST = 1_000_000  # vertices that are looked at
CHUNK = 20_000
OUTSIDE = 1e-9  # by which a vertex may lie outside, in widths of the box: rounding of the solution


def vertex_count(planes: int, d: int) -> int:
    """How many points Σ_r C(planes, r) C(d, r) 2^{d−r} are candidates: r planes and d − r faces meet in each.

    >>> vertex_count(6, 2)
    43
    """
    return sum(math.comb(planes, r) * math.comb(d, r) * 2 ** (d - r) for r in range(d + 1))


def exact_gradient(found: Creases) -> Float[Tensor, " n"] | None:
    """sup |g_k(x)| over the box for every student k; None where that would take more than a million vertices.

    The creases cut the box into polytopes on which v_kᵀ(f* − f) is linear, so it is largest at a vertex of one of them.
    """
    box, mine = found.box, lowest(found.student)
    if vertex_count(len(found.planes.b), len(box.low)) > MOST:
        return None
    best = torch.zeros(len(mine.b), dtype=torch.float64)
    scale = OUTSIDE * (mine.w.abs() @ (box.high - box.low) + mine.b.abs())
    for x in _vertices(found.planes, box):
        with torch.no_grad():
            h = (found.teacher(x)[0] - found.student(x)[0]) @ found.v.T
        best = torch.maximum(best, (h.abs() * (x @ mine.w.T + mine.b >= -scale)).amax(0))
    return best * (box.reach(mine)[1] > 0)  # touching the box from outside is not being active


def _vertices(planes: Nodes, box: Box) -> Iterator[Float[Tensor, "N d"]]:
    """Points in the box where r of the planes and d − r of its faces meet, some at a time."""
    K, d = planes.w.shape
    width = box.high - box.low
    for r in range(min(K, d) + 1):
        chosen = torch.tensor(list(combinations(range(K), r)), dtype=torch.long)
        chosen = chosen.reshape(math.comb(K, r), r)
        for free in combinations(range(d), r):
            fixed = [i for i in range(d) if i not in free]
            for ends in product((0, 1), repeat=d - r):
                at = torch.where(torch.tensor(ends, dtype=torch.bool), box.high[fixed], box.low[fixed])
                for some in chosen.split(CHUNK):
                    x = box.low.new_empty(len(some), d)
                    x[:, fixed] = at
                    if r:
                        w, b = planes.w[some], planes.b[some]
                        left = -b - (w[:, :, fixed] @ at)
                        x[:, list(free)], failed = torch.linalg.solve_ex(w[:, :, list(free)], left)
                        x = x[(failed == 0) & x.isfinite().all(1)]
                    inside = ((x >= box.low - OUTSIDE * width) & (x <= box.high + OUTSIDE * width)).all(1)
                    if inside.any():
                        yield x[inside]
