"""Overlaps of the activations of two nodes under Gaussian inputs (LM eq. 7)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument
from relulab.subjects.specialization.tools.nodes import Nodes, regular
from relulab.subjects.specialization.tools.pair_angles import pair_angles
from relulab.subjects.specialization.tools.pair_overlap import pair_overlap


class Overlaps(NamedTuple):
    """Overlaps of all pairs of nodes of two networks.

    Args:
        D: ψ_d, how often both nodes are active, (…, m, n).
        L: ψ_l, the mean product of their activations, (…, m, n).
    """

    D: Float[Tensor, "*lane m n"]
    L: Float[Tensor, "*lane m n"]

    __repr__ = short_repr


@instrument(source="LM eq. 7", ids=("LM.A2", "LM.A3"))
def overlaps(star: Nodes, nodes: Nodes, *, std: float = 1.0) -> Overlaps:
    """Overlaps ψ_d = E[f_j' f_k'] and ψ_l = E[f_j f_k] of the activations of all pairs of nodes, for Gaussian inputs.

    f_j = σ(w_jᵀx + b_j) with the ReLU σ, f_j' is its gate, 1 or 0, and x ~ N(0, std² I). Without biases, these are the
    arc-cosine kernels; with biases, integrals of one variable, which are computed to ten digits in float64.

    Args:
        star: Nodes j, for instance ``lowest(teacher)``, with weights (…, m, d) and biases (…, m).
        nodes: Nodes k, for instance ``lowest(student)``, with weights (…, n, d) and biases (…, n).
        std: Standard deviation of the inputs, above 0.

    Returns:
        D = ψ_d and L = ψ_l, both (…, m, n).

    >>> plane = Nodes(torch.eye(2), torch.zeros(2))
    >>> D, L = overlaps(plane, plane)
    >>> D.tolist(), round(float(L[0, 1]), 4)
    ([[0.5, 0.25], [0.25, 0.5]], 0.1592)
    """
    if star.w.shape[-1] != nodes.w.shape[-1]:
        raise UserError(
            f"expected nodes with the same number of inputs, got {star.w.shape[-1]} and {nodes.w.shape[-1]}: the "
            "weights must have the same number of columns"
        )
    (u, b), (v, c) = standardized(star, std), standardized(nodes, std)
    D, L = pair_overlap(b[..., :, None], c[..., None, :], pair_angles(u, v))
    length, other = (std * lengths(one) for one in (star, nodes))
    dtype = torch.result_type(star.w, nodes.w)
    return Overlaps(D.to(dtype), (L * length[..., :, None] * other[..., None, :]).to(dtype))


def standardized(nodes: Nodes, std: float = 1.0) -> Nodes:
    """Return nodes with weights of norm one that are active on inputs from N(0, I) as often and together, in float64.

    The biases are divided by the standard deviation of wᵀx, so −2 means that a node is active above two of them.

    Args:
        nodes: Nodes with weights (…, n, d) and biases (…, n). No weight vector may be zero.
        std: Standard deviation of the inputs, above 0.

    >>> standardized(Nodes(torch.tensor([[3.0, 4.0]]), torch.tensor([-20.0])), std=2.0).b.item()
    -2.0
    """
    if not 0 < std < torch.inf:
        raise UserError(f"expected a standard deviation above 0, got std={std}: it is the scale of the inputs")
    w, b = regular(Nodes(nodes.w.double(), nodes.b.double()))
    if not (w.isfinite().all() and b.isfinite().all() and (w.abs().amax(-1) > 0).all()):
        raise UserError(
            "expected nodes with finite, nonzero weights and finite biases, but some weights are zero, NaN or "
            "infinite: remove these nodes"
        )
    return Nodes(w, b / std)


def lengths(nodes: Nodes) -> Float[Tensor, "*lane n"]:
    """Return the norms ‖w‖ of the weights of nodes, in float64, without overflow.

    Args:
        nodes: Nodes with weights (…, n, d) and biases (…, n).
    """
    largest = nodes.w.double().abs().amax(-1)
    return (nodes.w.double() / largest.where(largest > 0, 1)[..., None]).norm(dim=-1) * largest
