r"""Augmentations of SS definition 7: points moved a little along every axis, or across the boundaries of a teacher.

With K = m_1 + n_1 nodes in teacher and student and ``step`` = 2ε/(c K^{3/2}), where c depends on the data,

    (a) teacher-agnostic:  aug(D)     = D ∪ {x ± step ẽ_u   : x ∈ D, u = 1, …, d},
    (b) teacher-aware:     aug(D, W*) = D ∪ {x ± step w̃*_j  : x ∈ D ∩ I_j(ε), j = 1, …, m_1},

w̃*_j being of norm one. SS theorems 3 and 4 are about students whose gradient is small on every point of these sets.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.nets.hooks import points
from relulab.subjects.specialization.instruments.observers import in_band
from relulab.subjects.specialization.tools.nodes import Nodes, regular


class Augmented(NamedTuple):
    """Points, the given ones first, and of each the row that it came from: ``labels[row]`` are their labels by origin.

    A moved point has an output of its own: where the teacher is at hand, ask it rather than copy the label.
    """

    x: Float[Tensor, "M d"]
    row: Int[Tensor, " M"]


def teacher_agnostic(x: Tensor | np.ndarray, step: float) -> Augmented:
    """x with 2d neighbors of every point, at distance ``step`` along each axis: (2d + 1) N rows (SS definition 7a).

    After the given points come the neighbors of the first, x + step ẽ_1, …, x + step ẽ_d, x − step ẽ_1, …, and so on.

    Args:
        x: Points, (N, d), in floating point.
        step: Distance of the neighbors, above 0.

    >>> teacher_agnostic(torch.zeros(1, 2), 0.5).x.tolist()
    [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.5, 0.0], [0.0, -0.5]]
    """
    x = _checked(x, step)
    N, d = x.shape
    moves = step * torch.cat([sign * torch.eye(d, dtype=x.dtype, device=x.device) for sign in (1, -1)])
    return _joined(x, (x[:, None] + moves).reshape(-1, d), torch.arange(N, device=x.device).repeat_interleave(2 * d))


def teacher_aware(x: Tensor | np.ndarray, nodes: Nodes, step: float, band: float | None = None) -> Augmented:
    """x with two neighbors x ± step w̃*_j of every point in the band |w̃*_jᵀx + b_j| ≤ band of node j (definition 7b).

    Neighbors come node by node, the one with + first.

    Args:
        x: Points, (N, d), in floating point.
        nodes: The teacher's, for instance ``lowest(net)``; they are scaled to ‖w̃‖ = 1 first.
        step: Distance of the neighbors, above 0.
        band: Half the width of the band. None takes half of the step, so that each point has a neighbor on the other
            side of the boundary, as in the proof of SS theorem 7; the definition's own band ε is wider.

    >>> nodes = Nodes(torch.tensor([[2.0, 0.0]]), torch.tensor([-2.0]))
    >>> found = teacher_aware(torch.tensor([[1.1, 5.0], [3.0, 0.0]]), nodes, step=0.5)
    >>> found.x.tolist(), found.row.tolist()
    ([[1.100000023841858, 5.0], [3.0, 0.0], [1.600000023841858, 5.0], [0.6000000238418579, 5.0]], [0, 1, 0, 0])
    """
    x, band = _checked(x, step), step / 2 if band is None else band
    if not (math.isfinite(band) and band >= 0):
        raise UserError(f"band {band}: a distance from the boundary, at least 0")
    nodes = hyperplanes(nodes)
    # In float64, as band and direction come from the teacher; the points keep their type.
    j, i = in_band(nodes, x.double(), band).T.nonzero(as_tuple=True)
    moves = step * nodes.w[j]
    pairs = torch.stack([x[i] + moves, x[i] - moves], 1).flatten(0, 1)
    return _joined(x, pairs, i.repeat_interleave(2))


def hyperplanes(nodes: Nodes) -> Nodes:
    """One layer's nodes as regular ones in float64, refused when one of them has no hyperplane."""
    w, b = (torch.as_tensor(t).double() for t in nodes)
    if w.dim() != 2 or b.shape != w.shape[:1] or not len(w):
        raise UserError(
            f"nodes with weights of shape {tuple(w.shape)} and biases {tuple(b.shape)}: (nodes, inputs) and (nodes,) "
            "of one network were expected, as lowest(net, lane) gives them"
        )
    if not (w.isfinite().all() and b.isfinite().all()):
        raise UserError("some weights or biases of the nodes are NaN or infinite")
    dead = (w == 0).all(1).nonzero().flatten().tolist()
    if dead:
        raise UserError(f"node {dead[0]} has no weights, so no boundary: leave out the {len(dead)} such nodes")
    return regular(Nodes(w, b))


def _checked(x: Tensor | np.ndarray, step: float) -> Float[Tensor, "N d"]:
    x = points(x)
    if x.dim() != 2 or not x.numel() or not x.is_floating_point():
        raise UserError(
            f"points of shape {tuple(x.shape)} and {x.dtype}: (points, inputs) in floating point, not empty"
        )
    if not (math.isfinite(step) and step > 0):
        raise UserError(f"step {step}: a distance above 0, in SS 2ε/(c K^(3/2))")
    return x


def _joined(x: Tensor, new: Tensor, row: Tensor) -> Augmented:
    return Augmented(torch.cat([x, new.to(x.dtype)]), torch.cat([torch.arange(len(x), device=x.device), row]))
