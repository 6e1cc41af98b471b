"""How much nodes overlap with each other, relative to themselves (LM assumption 3)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument
from relulab.subjects.specialization.instruments.overlaps import overlaps, standardized
from relulab.subjects.specialization.tools.nodes import Nodes


class OverlapRatios(NamedTuple):
    """The largest overlaps of two different nodes, relative to the overlap of a node with itself.

    Args:
        epsilon_d: ϵ_d, of how often both are active.
        epsilon_l: ϵ_l, of the mean product of their activations.
    """

    epsilon_d: Float[Tensor, "*lane"]
    epsilon_l: Float[Tensor, "*lane"]

    __repr__ = short_repr


@instrument(source="LM assumption 3, eq. 9", ids=("LM.A3",))
def overlap_ratios(nodes: Nodes, *, std: float = 1.0) -> OverlapRatios:
    """The smallest ϵ_d and ϵ_l with d_jk ≤ ϵ_d d_jj and l_jk ≤ ϵ_l l_jj for all nodes j ≠ k, for Gaussian inputs.

    d and l are the overlaps ψ_d and ψ_l of nodes with weights scaled to norm one, as in the paper, so that positive
    rescaling changes nothing. Both are 0 for a single node.

    Args:
        nodes: The nodes, with weights (…, n, d) and biases (…, n).
        std: Standard deviation of the inputs, above 0.

    >>> [round(float(r), 6) for r in overlap_ratios(Nodes(torch.eye(3), torch.zeros(3)))]
    [0.5, 0.31831]
    """
    unit = standardized(nodes, std)
    D, L = overlaps(unit, unit)
    return OverlapRatios(*(relative(matrix).amax((-2, -1)).to(nodes.w.dtype) for matrix in (D, L)))


def relative(matrix: Float[Tensor, "*lane n n"]) -> Float[Tensor, "*lane n n"]:
    """Divide every entry by the diagonal entry of its row, and set the diagonal to 0.

    Args:
        matrix: Overlaps of nodes with each other, (…, n, n).
    """
    own = matrix.diagonal(dim1=-2, dim2=-1)[..., None]
    others = ~torch.eye(matrix.shape[-1], dtype=torch.bool, device=matrix.device)
    return (matrix / own).where(others, 0.0)
