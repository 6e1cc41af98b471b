"""The exact largest gradient of a two-layer student on a box, from the vertices of its linear pieces."""

import math
from collections.abc import Iterator
from itertools import combinations, product

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import Creases
from relulab.subjects.specialization.tools.nodes import Nodes, gates, lowest

MOST = 1_000_000  # largest number of candidate vertices
CHUNK = 20_000  # candidates solved at once
OUTSIDE = 1e-9  # distance, in widths of the box, by which a vertex may lie outside because of rounding


def vertex_count(planes: int, d: int) -> int:
    """Number of candidate vertices, Σ_r C(planes, r) C(d, r) 2^{d−r}. In each, r planes and d − r faces meet.

    Args:
        planes: Number of hyperplanes.
        d: Number of inputs.

    >>> vertex_count(6, 2)
    43
    """
    return sum(math.comb(planes, r) * math.comb(d, r) * 2 ** (d - r) for r in range(d + 1))


def exact_gradient(pair: Creases) -> Float[Tensor, " n"] | None:
    """sup |g_k(x)| over the box for every student k, or None if there are more than a million candidate vertices.

    The creases divide the box into polytopes on which v_kᵀ(f* − f) is linear, so the maximum is attained at a vertex.

    Args:
        pair: The creases of teacher and student.
    """
    box, nodes = pair.box, lowest(pair.student)
    if vertex_count(len(pair.planes.b), len(box.low)) > MOST:
        return None
    largest = torch.zeros(len(nodes.b), dtype=torch.float64)
    scale = OUTSIDE * (nodes.w.abs() @ (box.high - box.low) + nodes.b.abs())
    for x in _vertices(pair.planes, box):
        with torch.no_grad():
            h = (pair.teacher(x)[0] - pair.student(x)[0]) @ pair.v.T
        # a node that only touches the box is never active in it
        active = (x @ nodes.w.T + nodes.b >= -scale) & (box.reach(nodes)[1] > 0)
        largest = torch.maximum(largest, (h.abs() * gates(active, pair.student.slope)).amax(0))
    return largest


def _vertices(planes: Nodes, box: Box) -> Iterator[Float[Tensor, "N d"]]:
    """Yield the points of the box where r of the planes and d − r of its faces meet, in chunks."""
    K, d = planes.w.shape
    width = box.high - box.low
    for r in range(min(K, d) + 1):
        chosen = torch.tensor(list(combinations(range(K), r)), dtype=torch.long)
        chosen = chosen.reshape(math.comb(K, r), r)
        for free in combinations(range(d), r):
            fixed = [i for i in range(d) if i not in free]
            for ends in product((0, 1), repeat=d - r):
                at = torch.where(torch.tensor(ends, dtype=torch.bool), box.high[fixed], box.low[fixed])
                for part in chosen.split(CHUNK):
                    x = box.low.new_empty(len(part), d)
                    x[:, fixed] = at
                    if r:
                        w, b = planes.w[part], planes.b[part]
                        left = -b - (w[:, :, fixed] @ at)
                        x[:, list(free)], failed = torch.linalg.solve_ex(w[:, :, list(free)], left)
                        x = x[(failed == 0) & x.isfinite().all(1)]
                    inside = ((x >= box.low - OUTSIDE * width) & (x <= box.high + OUTSIDE * width)).all(1)
                    if inside.any():
                        yield x[inside]
