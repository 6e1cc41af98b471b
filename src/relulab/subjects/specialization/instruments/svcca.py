"""SVCCA: how similar the representations of two layers are, up to a linear map."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument


class Canonical(NamedTuple):
    """Canonical correlations of two layers, in descending order, and how many directions of each were kept.

    ``rho`` has zeros after the first min(``kept_a``, ``kept_b``) entries.
    """

    rho: Float[Tensor, "*lane k"]
    kept_a: Int[Tensor, "*lane"]
    kept_b: Int[Tensor, "*lane"]

    __repr__ = short_repr

    @property
    def mean(self) -> Float[Tensor, "*lane"]:
        """The mean canonical correlation; 0 if a layer is constant."""
        return self.rho.sum(-1) / torch.minimum(self.kept_a, self.kept_b).clamp(min=1)


@instrument(source="SS section 4, after theorem 2; Raghu et al. 2017", ids=("SS.T2",))
def svcca(a: Float[Tensor, "*lane N m"], b: Float[Tensor, "*lane N_ n"], variance: float = 0.99) -> Canonical:
    r"""Compute the canonical correlations of two layers, after dropping directions of small variance (SVCCA).

    Let F = U S Vᵀ be the singular value decomposition of the centered activations of a layer over N points, and U_k its
    first k columns, with the smallest k for which S_1² + … + S_k² is the given share of the total. The canonical
    correlations are the singular values of U_kᵀ U'_{k'}. They do not change if a layer is rotated or multiplied by a
    number, or by any invertible matrix that keeps the span of its first k directions. If k + k' > N − 1, some of them
    are 1 by chance: use many more points than units.

    Args:
        a: Activations of the first layer at N ≥ 2 samples, (…, N, m).
        b: Activations of the second layer at the same samples, (…, N, n), of the same data type.
        variance: Share of the variance to keep, above 0 and at most 1. With 1, all directions are kept (plain CCA).

    >>> f = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    >>> svcca(f, f @ torch.tensor([[0.0, -2.0], [2.0, 0.0]])).rho.round(decimals=4).tolist()
    [1.0, 1.0]
    """
    if not 0 < variance <= 1:
        raise UserError(
            f"expected a share of the variance above 0 and at most 1, got variance={variance}: such as 0.99"
        )
    if a.shape[-2] != b.shape[-2] or a.dtype != b.dtype or a.shape[-2] < 2:
        raise UserError(
            f"expected activations of the same data type at the same samples, at least two, got {a.dtype} at "
            f"{a.shape[-2]} and {b.dtype} at {b.shape[-2]} samples: use the same inputs and types"
        )
    return canonical(kept_directions(a, variance), kept_directions(b, variance))


def kept_directions(f: Float[Tensor, "*lane N m"], variance: float) -> Float[Tensor, "*lane N k"]:
    """Return the left singular vectors U of centered activations; those that are not kept are set to zero.

    Args:
        f: Activations, (…, N, m).
        variance: Share of the variance to keep.
    """
    largest = f.abs().amax((-2, -1), keepdim=True)
    f = f / largest.where(largest > 0, 1)  # avoids overflow and underflow of squares
    U, S, _ = torch.linalg.svd(f - f.mean(-2, keepdim=True), full_matrices=False)
    rounding = max(f.shape[-2:]) * torch.finfo(f.dtype).eps * f.norm(dim=(-2, -1))
    before = S.square().cumsum(-1) - S.square()  # the variance of all larger directions
    kept = (before < variance * S.square().sum(-1, keepdim=True)) & S.gt(rounding.unsqueeze(-1))
    return U * kept.unsqueeze(-2)


def canonical(U_a: Float[Tensor, "*lane N k"], U_b: Float[Tensor, "*lane N l"]) -> Canonical:
    """Return the canonical correlations of two layers from their kept directions.

    Args:
        U_a: Orthonormal directions of the first layer, or zeros, (…, N, k).
        U_b: The same of the second layer, (…, N, l).
    """
    kept = [(U.abs().amax(-2) > 0).sum(-1) for U in (U_a, U_b)]
    rho = torch.linalg.svdvals(U_a.mT @ U_b).clamp(max=1)
    place = torch.arange(rho.shape[-1], device=rho.device)
    return Canonical(torch.where(place < torch.minimum(*kept).unsqueeze(-1), rho, 0), *kept)
