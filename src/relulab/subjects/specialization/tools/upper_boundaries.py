"""Boundaries of the units above the lowest layer: parts of hyperplanes, bent where units below switch (SS section 5.2).

A unit of layer l > 1 switches where its pre-activation wᵀf_{l−1}(x) + b is zero. Within a linear region of the layers
below, that is a hyperplane aᵀx + c = 0. It is bent into another one where a unit below switches.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.groups import assign_leaders
from relulab.subjects.specialization.tools.nodes import Nodes, gates, regular

MOST = 100_000_000  # numbers in memory
SAME = 1e-9  # alignment error, with biases in units of the largest point, up to which two boundaries are one
COMPARED = 4000  # boundaries that are compared in pairs; more of them are counted without merging equal ones


class UpperBoundaries(NamedTuple):
    """The hyperplanes of u units above the lowest layer in the linear regions of N points.

    ``planes`` has one regular row per region and unit, ``row`` the rows of each point, and ``distance`` how far each
    point is from them. A unit that is constant in a region has no boundary there: its distance is ∞.
    """

    planes: Nodes
    row: Int[Tensor, "N u"]
    distance: Float[Tensor, "N u"]

    @classmethod
    def joined(cls, parts: "list[UpperBoundaries]") -> "UpperBoundaries":
        """Put the boundaries of several networks at the same points side by side.

        Args:
            parts: The boundaries of each network.
        """
        starts = torch.tensor([0, *(len(part.planes.b) for part in parts[:-1])]).cumsum(0).tolist()
        planes = Nodes(*(torch.cat(both) for both in zip(*(part.planes for part in parts), strict=True)))
        rows = torch.cat([part.row + start for part, start in zip(parts, starts, strict=True)], 1)
        return cls(planes, rows, torch.cat([part.distance for part in parts], 1))

    def near(self, chosen: Bool[Tensor, " N"], reach: float) -> Nodes:
        """The hyperplanes that pass within ``reach`` of some chosen point, each of them once.

        Args:
            chosen: Which points count.
            reach: The distance.
        """
        rows = self.row[chosen][self.distance[chosen] <= reach].unique()
        planes = Nodes(self.planes.w[rows], self.planes.b[rows])
        if not 1 < len(rows) <= COMPARED:
            return planes
        size = max(float(planes.b.abs().max()), 1e-300)
        unit = Nodes(planes.w, planes.b / size)
        none = torch.zeros(len(rows), dtype=torch.bool)
        _, first = assign_leaders(alignment(unit, unit, either_side=True) <= SAME, torch.arange(len(rows)), none)
        return Nodes(planes.w[first], planes.b[first])

    def beside(self, w: Float[Tensor, " d"], b: float, epsilon: float, reach: float) -> Bool[Tensor, " N"]:
        """Whether a hyperplane within ``reach`` of a point is ε-aligned with that of a node.

        Args:
            w: Unit normal of the node, (d,).
            b: Bias of the node.
            epsilon: ε, the alignment error.
            reach: The distance.
        """
        error = alignment(Nodes(w[None], w.new_tensor([b])), self.planes, either_side=True)[0]
        return ((error <= epsilon)[self.row] & (self.distance <= reach)).any(1)


def upper_boundaries(net: MLP, x: Float[Tensor, "N d"], node: int | None = None) -> UpperBoundaries:
    """Find the hyperplanes of the units above the lowest layer in the linear region of each point.

    Args:
        net: One (leaky) ReLU network in float64.
        x: Points, (N, d), in float64.
        node: A node of the lowest layer whose two sides count for every point. None uses the side of the point.

    >>> net = MLP((1, 1, 1, 1), dtype=torch.float64)
    >>> net.W[0].data[:], net.W[1].data[:], net.b[1].data[:] = 2.0, 3.0, -6.0  # σ(3σ(2x) − 6) switches at x = 1
    >>> upper_boundaries(net, torch.tensor([[0.5], [-1.0]]).double()).distance.tolist()
    [[0.5], [inf]]
    """
    with torch.no_grad():
        hidden = net.layers(x)[:-1]
    sides = (None,) if node is None else (True, False)
    return UpperBoundaries.joined([_one_side(net, x, [f[0] > 0 for f in hidden], node, side) for side in sides])


def _one_side(net: MLP, x: Tensor, active: list[Tensor], node: int | None, side: bool | None) -> UpperBoundaries:
    """The boundaries for gates that are given at every point, with those of one node replaced."""
    if net.depth == 2:
        none = Nodes(x.new_zeros(0, x.shape[1]), x.new_zeros(0))
        return UpperBoundaries(none, torch.zeros(len(x), 0, dtype=torch.long), x.new_zeros(len(x), 0))
    if side is not None:
        active = [active[0].clone(), *active[1:]]
        active[0][:, node] = side
    patterns, region = torch.unique(torch.cat(active[:-1], 1), dim=0, return_inverse=True)
    u, d = sum(net.widths[2:-1]), x.shape[1]
    if max(len(patterns) * d, len(x)) * (u + 1) > MOST:
        raise UserError(
            f"the points near the boundary lie in {len(patterns):,} linear regions, with up to {u:,} further "
            "boundaries in each, which is too many to list: use fewer points, a smaller ε, or smaller networks"
        )
    planes = _planes(net, gates(patterns, net.slope))
    row = region[:, None] * u + torch.arange(u)
    distance = x.new_empty(len(x), u)
    for unit in range(u):
        w, b = planes.w[row[:, unit]], planes.b[row[:, unit]]
        distance[:, unit] = ((w * x).sum(1) + b).abs().where(w.abs().amax(1) > 0, torch.inf)
    return UpperBoundaries(planes, row, distance)


def _planes(net: MLP, D: Float[Tensor, "P gates"]) -> Nodes:
    """The regular hyperplanes of all units above the lowest layer in each region, by composing affine maps.

    The same maps with absolute weights bound the rounding errors. A unit whose normal is rounding only is constant.
    """
    A, c = net.W[0].data.expand(len(D), -1, -1), net.b[0].data[0].expand(len(D), -1)
    size, w, b = A.abs(), [], []
    K_eps = 4 * sum(net.widths) * torch.finfo(D.dtype).eps
    parts = D.split(net.widths[1:-2], 1)
    for D_l, W, bias in zip(parts, net.W[1:-1], net.b[1:-1], strict=True):
        A, c = (A * D_l[:, None]) @ W.data[0], (c * D_l) @ W.data[0] + bias.data[0]
        size = (size * D_l[:, None]) @ W.data[0].abs()
        exists = A.norm(dim=1) > K_eps * size.norm(dim=1)
        w.append((A * exists[:, None]).mT)
        b.append(c)
    return regular(Nodes(torch.cat(w, 1).flatten(0, 1), torch.cat(b, 1).flatten()))
