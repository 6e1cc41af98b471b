"""What the nodes that are kept do instead of those that are removed, at each value that layers read."""

from collections.abc import Mapping

import torch
from jaxtyping import Int
from torch import Tensor

from relulab.nets.narrowing import Stand, Stands, removed
from relulab.nets.stages import Stage, Structure
from relulab.subjects.specialization.tools.node_moments import Moments
from relulab.subjects.specialization.tools.removal import gram, reads

RIDGE = 1e-8  # share of its variance added to each node that is kept, so that coefficients stay moderate


def fitted_stands(of: Structure, kept: Mapping[str, Int[Tensor, " _"]], found: Mapping[str, Moments]) -> Stands:
    """Return least-squares fits of all nodes by the kept ones, with a constant where there is a place for it.

    Args:
        of: The structure of a network.
        kept: The nodes that are kept, by the name of their stage.
        found: The moments of the values that are read.
    """
    stands = {}
    for stage in _narrowed_stages(of, kept):
        for value, centered in reads(stage).items():
            stands[stage.name, value] = _fit(found[value], kept[stage.name], centered)
    return stands


def merged_stands(of: Structure, kept: Mapping[str, Int[Tensor, " _"]], found: Mapping[str, Moments]) -> Stands:
    """Return multiples of single nodes: each removed node is replaced by c_j f_j for the j and c_j with least error.

    Args:
        of: The structure of a network.
        kept: The nodes that are kept, by the name of their stage.
        found: The moments of the values that are read.
    """
    stands = {}
    for stage in _narrowed_stages(of, kept):
        for value in reads(stage):
            stands[stage.name, value] = _merge(found[value].second, kept[stage.name])
    return stands


def _narrowed_stages(of: Structure, kept: Mapping[str, Tensor]) -> list[Stage]:
    return [stage for stage in of.stages if len(kept.get(stage.name, range(stage.nodes))) < stage.nodes]


def _fit(m: Moments, kept: Int[Tensor, " k"], centered: bool) -> Stand:
    """Fit f ≈ M f_kept + r: M solves G_kk Mᵀ = G_k·, where G are covariances, and r makes the means agree."""
    G = gram(m, centered)
    stand = removed(len(G), kept)
    gone = torch.ones(len(G), dtype=torch.bool)
    gone[kept] = False
    scale = G.diagonal()[kept].clamp(min=0).sqrt()
    alive = scale > 0  # nodes that are constant on the points explain nothing
    scale = scale.where(alive, 1)
    inner = G[kept][:, kept] / scale[:, None] / scale + RIDGE * torch.eye(len(kept), dtype=G.dtype)
    solved = torch.linalg.solve(inner, G[kept][:, gone] / scale[:, None]) / scale[:, None]
    stand.mix[gone] = (solved * alive[:, None]).T
    if centered:
        stand.rest[gone] = m.mean[gone] - stand.mix[gone] @ m.mean[kept]
    return stand


def _merge(second: Tensor, kept: Int[Tensor, " k"]) -> Stand:
    stand = removed(len(second), kept)
    gone = torch.ones(len(second), dtype=torch.bool)
    gone[kept] = False
    size = second.diagonal()[kept]
    explained = second[gone][:, kept].square() / size.where(size > 0, torch.inf)
    best = explained.argmax(1)
    some = torch.where(size > 0, size, torch.inf)[best]
    stand.mix[gone] = 0
    stand.mix[gone.nonzero()[:, 0], best] = second[gone.nonzero()[:, 0], kept[best]] / some
    return stand
