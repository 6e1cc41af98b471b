"""Boxes on which units above the lowest layer keep their gates, so that a deep network has two layers (S0 theorem 4).

On such a box, f_L(x) = V_1 f_1(x) + constant, with the top-down matrix V_1 of any of its points.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.top_down import top_down_layers
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.lowest_gradient import lowest_alpha
from relulab.subjects.specialization.tools.nodes import gates, lowest, regular

HALVINGS = 20  # of the interval that contains the size of the largest box
DRAWN = 256  # points of the box that are moved onto the boundary of a node


@torch.no_grad()
def two_layers_at(net: MLP, x: Float[Tensor, " d"]) -> MLP:
    """Return the two-layer network that equals a network as long as the units above the lowest layer keep their gates.

    Args:
        net: One (leaky) ReLU network in float64.
        x: A point, (d,).

    >>> net = MLP((1, 1, 1, 1), dtype=torch.float64)
    >>> net.W[0].data[:], net.W[1].data[:], net.W[2].data[:], net.b[1].data[:] = 1.0, 2.0, 3.0, 1.0  # 3σ(2σ(x) + 1)
    >>> two = two_layers_at(net, torch.ones(1).double())
    >>> two.W[1].data.tolist(), two.b[1].data.tolist()
    ([[[6.0]]], [[[3.0]]])
    """
    if net.depth == 2:
        return net
    V, n = top_down_layers(net, x[None])[0].V[0, 0], net.widths[1]
    two = MLP((net.widths[0], n, net.widths[-1]), slope=net.slope, dtype=net.dtype)
    two.W[0].data, two.b[0].data = net.W[0].data, net.b[0].data
    two.W[1].data[0], two.b[1].data[0, 0] = V[:, :n].T, V[:, n]
    return two


@torch.no_grad()
def steady(net: MLP, low: Float[Tensor, "P d"], high: Float[Tensor, "P d"]) -> Bool[Tensor, " P"]:
    """Whether the units above the lowest layer provably keep their gates on each of P boxes, also with rounding.

    A unit of the lowest layer that switches in the box lies between two parallel affine functions. All further
    units are bounded by composing affine functions, which is exact if no unit switches. True is a proof; a box may be
    too large for this proof although no gate changes. On small boxes around a point that is on no boundary, it works.

    Args:
        net: One (leaky) ReLU network in float64.
        low: Lower limits of the boxes.
        high: Upper limits of the boxes.
    """
    middle, half, farthest = (low + high) / 2, (high - low) / 2, torch.maximum(low.abs(), high.abs())
    K_eps = 4 * (sum(net.widths) + 8) * torch.finfo(low.dtype).eps
    A, c = net.W[0].data.expand(len(low), -1, -1), net.b[0].data[0].expand(len(low), -1)
    down = up = torch.zeros_like(c)  # bounds of what is not affine
    size = farthest @ net.W[0].data[0].abs() + net.b[0].data[0].abs()
    keeps = torch.ones(len(low), dtype=torch.bool)
    for l in range(1, net.depth):
        center = (A.mT @ middle[..., None])[..., 0] + c
        spread = (A.abs().mT @ half[..., None])[..., 0]
        least, most = center - spread + down, center + spread + up
        margin = K_eps * size
        if l > 1:
            keeps &= ((least > margin) | (most < -margin) | (size == 0)).all(1)
        switches = (least < margin) & (most > -margin)
        factor = most.clamp(min=0) / (most.clamp(min=0) - least.clamp(max=0)).clamp(min=1e-300)
        factor = torch.where(switches, factor.clamp(0, 1), (center > 0).double())
        D = net.slope + (1 - net.slope) * factor
        gap = torch.where(switches, (1 - net.slope) * factor * (-least).clamp(min=0), 0.0)
        W, b = net.W[l].data[0], net.b[l].data[0]
        A, c, down, up = A * D[:, None], c * D, down * D, up * D + gap
        plus, minus = W.clamp(min=0), W.clamp(max=0)
        A, c, down, up = A @ W, c @ W + b, down @ plus + up @ minus, up @ plus + down @ minus
        size = (size * torch.where(switches, 1.0, gates(center > 0, net.slope))) @ W.abs() + b.abs()
    return keeps


def on_boundary(net: MLP, box: Box, j: int) -> Float[Tensor, "P d"]:
    """Points of the box that were moved onto the boundary of node j: its center, and points drawn uniformly from it.

    Args:
        net: One network in float64.
        box: The box.
        j: Index of a node of the lowest layer, from 0.
    """
    u = regular(lowest(net))
    x = torch.cat([box.middle[None], box.draw(DRAWN, torch.Generator().manual_seed(0))])
    x = x - (x @ u.w[j] + u.b[j])[:, None] * u.w[j]
    return x[((x > box.low) & (x < box.high)).all(1)] if u.w[j].any() else x[:0]


def steady_boxes(
    teacher: MLP, student: MLP, box: Box, j: int
) -> tuple[Float[Tensor, "P d"], Float[Tensor, " P"], list[Box]]:
    """Points on the boundary of teacher node j, with boxes around them on which all upper units keep their gates.

    Each box is the given one, shrunk toward the point.

    Args:
        teacher: One (leaky) ReLU network in float64.
        student: Another one with the same inputs.
        box: The box that contains all others.
        j: Index of a teacher node, from 0.

    Returns:
        The points, the sizes of the boxes relative to the given one, and the boxes. They are sorted by the size of the
        part around the point in which a student with α_kj ≠ 0 is active, or not active for leaky students.
    """
    x = on_boundary(teacher, box, j)
    share, too_large = torch.zeros(len(x), dtype=x.dtype), torch.ones(len(x), dtype=x.dtype)
    for attempt in range(HALVINGS):
        size = too_large if not attempt else (share + too_large) / 2
        low, high = (x + size[:, None] * (end - x) for end in (box.low, box.high))
        keeps = steady(teacher, low, high) & steady(student, low, high)
        share, too_large = torch.where(keeps, size, share), torch.where(keeps, too_large, size)
    nodes = regular(lowest(student))
    deep = x @ nodes.w.T + nodes.b
    deep = (deep.abs() if student.slope else deep).where(lowest_alpha(teacher, student, x, j) > 0, 0)
    part = torch.minimum(share[:, None] * box.size, deep.clamp(min=0)).amax(1)
    order = part.argsort(descending=True, stable=True)
    order = order[share[order] > 0]
    x, share = x[order], share[order]
    limits = [(x + share[:, None] * (end - x)) for end in (box.low, box.high)]
    return x, share, [Box(low, high) for low, high in zip(*limits, strict=True)]
