r"""Augmentations of SS definition 7: points moved along every axis, or across the boundaries of teacher nodes.

With K = m_1 + n_1 nodes in teacher and student and ``step`` = 2ε/(c K^{3/2}), where c depends on the data,

    (a) teacher-agnostic:  aug(D)     = D ∪ {x ± step ẽ_u   : x ∈ D, u = 1, …, d},
    (b) teacher-aware:     aug(D, W*) = D ∪ {x ± step w̃*_j  : x ∈ D ∩ I_j(ε), j = 1, …, m_1},

where w̃*_j has norm one. SS theorems 3 and 4 assume that the gradient of the student is small on these sets.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.nets.hooks import points
from relulab.subjects.specialization.instruments.observers import in_band
from relulab.subjects.specialization.tools.nodes import Nodes, regular


class Augmented(NamedTuple):
    """Augmented points, the given ones first, and for each point the row of the given point it comes from.

    ``labels[row]`` copies labels to the new points. The output of the teacher at a moved point may differ, so compute
    it with the teacher if possible.

    Args:
        x: The points, (M, d).
        row: The row of the given point that each point comes from, (M,).
    """

    x: Float[Tensor, "M d"]
    row: Int[Tensor, " M"]

    __repr__ = short_repr


def teacher_agnostic(x: Tensor | np.ndarray, step: float) -> Augmented:
    """Add 2d neighbors to every point, at distance ``step`` along each axis (SS definition 7a).

    The given points come first, then the neighbors of the first point, x + step ẽ_1, …, x + step ẽ_d, x − step ẽ_1, …,
    then those of the second point, and so on.

    Args:
        x: Points, (N, d), in floating point.
        step: Distance of the neighbors, above 0.

    Returns:
        (2d + 1) N points with their rows of origin.

    >>> teacher_agnostic(torch.zeros(1, 2), 0.5).x.tolist()
    [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.5, 0.0], [0.0, -0.5]]
    """
    x = _checked(x, step)
    N, d = x.shape
    moves = step * torch.cat([sign * torch.eye(d, dtype=x.dtype, device=x.device) for sign in (1, -1)])
    return _joined(x, (x[:, None] + moves).reshape(-1, d), torch.arange(N, device=x.device).repeat_interleave(2 * d))


def teacher_aware(x: Tensor | np.ndarray, nodes: Nodes, step: float, band: float | None = None) -> Augmented:
    """Add two neighbors x ± step w̃*_j to every point in the band |w̃*_jᵀx + b_j| ≤ band of node j (definition 7b).

    The given points come first, then the neighbors node by node, with x + step w̃*_j before x − step w̃*_j.

    Args:
        x: Points, (N, d), in floating point.
        nodes: The nodes of the teacher, for instance ``lowest(net)``. They are scaled to ‖w̃‖ = 1.
        step: Distance of the neighbors, above 0.
        band: Half the width of the band. None takes half the step, so that each point in the band gets a neighbor on
            the other side of the boundary, as in the proof of SS theorem 7. The band ε of the definition is wider.

    Returns:
        The points with their rows of origin.

    >>> nodes = Nodes(torch.tensor([[2.0, 0.0]]), torch.tensor([-2.0]))
    >>> augmented = teacher_aware(torch.tensor([[1.1, 5.0], [3.0, 0.0]]), nodes, step=0.5)
    >>> augmented.x.tolist(), augmented.row.tolist()
    ([[1.100000023841858, 5.0], [3.0, 0.0], [1.600000023841858, 5.0], [0.6000000238418579, 5.0]], [0, 1, 0, 0])
    """
    x, band = _checked(x, step), step / 2 if band is None else band
    if not (math.isfinite(band) and band >= 0):
        raise UserError(f"expected a band of at least 0, the largest distance from the boundary, got {band}")
    nodes = hyperplanes(nodes)
    # computed in float64 like the nodes; the result keeps the dtype of the points
    j, i = in_band(nodes, x.double(), band).T.nonzero(as_tuple=True)
    moves = step * nodes.w[j]
    pairs = torch.stack([x[i] + moves, x[i] - moves], 1).flatten(0, 1)
    return _joined(x, pairs, i.repeat_interleave(2))


def hyperplanes(nodes: Nodes) -> Nodes:
    """The nodes of one layer as regular nodes in float64. Raise an error if a node has no hyperplane.

    Args:
        nodes: Nodes with weights (n, d) and biases (n,).
    """
    w, b = (torch.as_tensor(t).double() for t in nodes)
    if w.dim() != 2 or b.shape != w.shape[:1] or not len(w):
        raise UserError(
            f"node weights have shape {tuple(w.shape)} and biases {tuple(b.shape)}: expected (nodes, inputs) and "
            "(nodes,) of one network, as returned by lowest(net, lane)"
        )
    if not (w.isfinite().all() and b.isfinite().all()):
        raise UserError("some weights or biases of the nodes are NaN or infinite: expected finite values")
    dead = (w == 0).all(1).nonzero().flatten().tolist()
    if dead:
        raise UserError(
            f"{len(dead)} of {len(w)} nodes have zero weights and so no boundary, the first is node {dead[0]}: "
            "remove them"
        )
    return regular(Nodes(w, b))


def _checked(x: Tensor | np.ndarray, step: float) -> Float[Tensor, "N d"]:
    x = points(x)
    if x.dim() != 2 or not x.numel() or not x.is_floating_point():
        raise UserError(
            f"points have shape {tuple(x.shape)} and dtype {x.dtype}: expected (points, inputs) in floating point, "
            "at least one point"
        )
    if not (math.isfinite(step) and step > 0):
        raise UserError(f"expected a step above 0 (2ε/(c K^{{3/2}}) in SS), got {step}")
    return x


def _joined(x: Tensor, new: Tensor, row: Tensor) -> Augmented:
    return Augmented(torch.cat([x, new.to(x.dtype)]), torch.cat([torch.arange(len(x), device=x.device), row]))
