"""Overlaps of the activations of two nodes on given points (LM eq. 7)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument

CHUNK = 5000  # points per pass


class SampledOverlaps(NamedTuple):
    """Estimates of the overlaps of all pairs of nodes of two networks, with standard errors.

    Args:
        D: Share of the points on which both nodes are active, (…, m, n).
        L: Mean product of their activations, (…, m, n).
        D_error: Standard errors of D; 0 if both are active on no point or on all.
        L_error: Standard errors of L.
    """

    D: Float[Tensor, "*lane m n"]
    L: Float[Tensor, "*lane m n"]
    D_error: Float[Tensor, "*lane m n"]
    L_error: Float[Tensor, "*lane m n"]

    __repr__ = short_repr


@instrument(source="LM eq. 7", ids=("LM.A2", "LM.A3"))
def sampled_overlaps(f_star: Float[Tensor, "*lane N m"], f: Float[Tensor, "*lane N n"]) -> SampledOverlaps:
    """Overlaps E[f_j' f_k'] and E[f_j f_k] of all pairs of nodes on points of any distribution, with standard errors.

    f_j are activations after the ReLU, and f_j' is 1 where f_j > 0, otherwise 0. For Gaussian inputs of the lowest
    layer, ``overlaps`` has the exact values.

    Args:
        f_star: Activations of nodes j on at least two points, (…, N, m).
        f: Activations of nodes k on the same points, (…, N, n).

    Returns:
        The estimates D and L and their standard errors, all (…, m, n).

    >>> f = torch.tensor([[1.0, 2.0], [1.0, -1.0], [-1.0, -1.0]]).relu()
    >>> sampled = sampled_overlaps(f, f)
    >>> sampled.D.mul(3).tolist(), sampled.L.mul(3).tolist()
    ([[2.0, 1.0], [1.0, 1.0]], [[2.0, 2.0], [2.0, 4.0]])
    """
    N = f.shape[-2]
    if N < 2 or f_star.shape[:-1] != f.shape[:-1]:
        raise UserError(
            f"expected activations on the same points, at least two, got shapes {tuple(f_star.shape)} and "
            f"{tuple(f.shape)}: give one row per point"
        )
    sums = [torch.zeros((), dtype=torch.float64, device=f.device) for _ in range(3)]
    for parts in zip(f_star.split(CHUNK, dim=-2), f.split(CHUNK, dim=-2), strict=True):
        a, b = (part.double() for part in parts)
        products = (((a > 0).double(), (b > 0).double()), (a, b), (a.square(), b.square()))
        sums = [total + left.mT @ right for total, (left, right) in zip(sums, products, strict=True)]
    D, L, square = (total / N for total in sums)
    spread = (square - L.square()).clamp(min=0)
    errors = ((variance / (N - 1)).sqrt() for variance in (D * (1 - D), spread))
    return SampledOverlaps(*(matrix.to(f.dtype) for matrix in (D, L, *errors)))
