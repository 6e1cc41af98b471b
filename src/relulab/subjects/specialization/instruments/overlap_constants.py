"""Constants that bound how fast overlaps change when a node turns (LM assumption 2, lemma 4)."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument
from relulab.subjects.specialization.instruments.overlaps import standardized
from relulab.subjects.specialization.tools.nodes import Nodes
from relulab.subjects.specialization.tools.pair_angles import pair_angles
from relulab.subjects.specialization.tools.pair_overlap import pair_overlap, share_below, slope_bound

CELLS = 64  # parts of the range of angles of a pair, each with a bound of its own
PAIRS = 1 << 13  # pairs of nodes in one pass


class LipschitzConstants(NamedTuple):
    """Constants of LM assumption 2.

    Args:
        K_d: The constant of ψ_d; infinite if two nodes may come to point in opposite directions.
        K_l: The constant of ψ_l.
    """

    K_d: Float[Tensor, ""]
    K_l: Float[Tensor, ""]

    __repr__ = short_repr


@instrument(source="LM assumption 2, eq. 8", ids=("LM.A2",))
def lipschitz_constants(nodes: Nodes, angle: float, *, std: float = 1.0) -> LipschitzConstants:
    """K_d and K_l with |ψ(w, w_1) − ψ(w, w_2)| ≤ K ψ(w, w_1) ‖w_1 − w_2‖ near some nodes, for Gaussian inputs.

    The constants hold for all unit vectors w within ``angle`` of the weights of a node i, with the bias of i, if one of
    w_1, w_2 is a node j, and the other one a unit vector within ``angle`` of it, with the bias of j. i and j are any
    two nodes, or the same one. This is what the theorems of LM use. There are no such constants for all unit vectors,
    because ψ tends to 0 as w_1 tends to −w, and so does not bound its own slope.

    ψ is a function of the angle between its arguments, and falls from θ − s to θ by a factor of at most e^{∫κ} if κ
    bounds −ψ'/ψ. The constants come from such bounds on the cells of a grid of angles, for all pairs of nodes and of
    cells. So they are upper bounds, exact up to rounding. They are not the smallest possible ones, but close to them
    for small angles.

    Args:
        nodes: The nodes, with weights (n, d) and biases (n,), which are scaled to weights of norm one.
        angle: The angle θ_0, above 0 and below π/2, in radians.
        std: Standard deviation of the inputs, above 0.

    >>> [round(float(K), 3) for K in lipschitz_constants(Nodes(torch.eye(2), torch.zeros(2)), 0.01)]
    [0.647, 1.614]
    """
    within(angle)
    u, b = standardized(nodes, std)
    i, j = torch.triu_indices(len(b), len(b))
    theta = pair_angles(u, u)[i, j]
    blocks = zip(*(one.split(PAIRS) for one in (b[i], b[j], theta)), strict=True)
    K = torch.stack([_of_pairs(h, k, part, angle) for h, k, part in blocks]).amax(0)
    return LipschitzConstants(*K.to(nodes.w.dtype))


@instrument(source="LM lemma 4, eq. 32", ids=("LM.L4",))
def fall_off(nodes: Nodes, angle: float, *, std: float = 1.0) -> Float[Tensor, " n"]:
    """C_0 of each node with |l*_jj − l_jj| ≤ C_0 l*_jj ‖δw_j‖² as it turns by up to ``angle``, for Gaussian inputs.

    l_jj = ψ_l(w_j, w_j) and l*_jj = ψ_l(w_j, w*_j) for unit vectors with the same bias b. At the angle θ, their
    difference is ∫_0^θ sin t ψ_d(t) dt ≤ (1 − cos θ) Φ(b), and ‖δw_j‖² = 2 (1 − cos θ), so that
    C_0 = Φ(b) / (2 ψ_l(angle)) is an upper bound, the smallest possible one for angle → 0.

    Args:
        nodes: The nodes, with weights (n, d) and biases (n,), which are scaled to weights of norm one.
        angle: The angle θ_0, above 0 and below π/2, in radians.
        std: Standard deviation of the inputs, above 0.

    Returns:
        C_0 of every node, (n,).

    >>> fall_off(Nodes(torch.eye(2), torch.zeros(2)), 1e-6).tolist()
    [0.5, 0.5]
    """
    within(angle)
    _, b = standardized(nodes, std)
    C_0 = share_below(b) / (2 * pair_overlap(b, b, torch.full_like(b, angle)).L)
    return C_0.to(nodes.w.dtype)


def within(angle: float) -> None:
    """Raise a ``UserError`` if an angle is not above 0 and below π/2.

    Args:
        angle: The angle, in radians.
    """
    if not 0 < angle < math.pi / 2:
        raise UserError(f"expected an angle above 0 and below π/2, got {angle:g}: angles are in radians")


def _of_pairs(
    h: Float[Tensor, " n"], k: Float[Tensor, " n"], theta: Float[Tensor, " n"], angle: float
) -> Float[Tensor, "2"]:
    """K_d and K_l of some pairs of nodes, from bounds on the slopes in the cells of a grid of angles."""
    low, high = (theta - 2 * angle).clamp(min=0), (theta + 2 * angle).clamp(max=math.pi)
    edge = torch.lerp(low[:, None], high[:, None], torch.linspace(0, 1, CELLS + 1, dtype=h.dtype, device=h.device))
    h, k = h[:, None], k[:, None]
    D, L = pair_overlap(h, k, edge)
    start, end = edge[:, :-1], edge[:, 1:]
    # both overlaps fall with the angle
    of_d = slope_bound(h, k, start, end) / D[:, 1:]
    of_l = _largest_sine(start, end) * D[:, :-1] / L[:, 1:]
    width = (high - low) / CELLS
    return torch.stack([_constant(kappa, width, angle) for kappa in (of_d, of_l)])


def _largest_sine(low: Float[Tensor, "n c"], high: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    over = (low <= math.pi / 2) & (high >= math.pi / 2)
    return torch.where(over, 1.0, torch.maximum(low.sin(), high.sin()))


def _constant(kappa: Float[Tensor, "n c"], width: Float[Tensor, " n"], angle: float) -> Float[Tensor, ""]:
    """Return the largest (e^{∫κ} − 1) / ‖w_1 − w_2‖ for angles in two cells that differ by s, at most ``angle``.

    With L cells from the first to the last one, s is between (L − 2) and L times their width. For constant κ, the ratio
    grows with s, so the largest s with the largest κ is one bound, and the sum of all κ with the smallest s another.
    """
    kappa = kappa.nan_to_num(nan=torch.inf)  # 0/0 where even the slope underflows
    peak, integral, best = kappa, kappa * width[:, None], torch.zeros(())
    for L in range(1, kappa.shape[1] + 1):
        if L > 1:
            peak = torch.maximum(peak[:, :-1], kappa[:, L - 1 :])
            integral = integral[:, :-1] + kappa[:, L - 1 :] * width[:, None]
        low, high = ((width * count).clamp(max=angle)[:, None] for count in (L - 2, L))
        bound = torch.expm1(peak * high) / (2 * (high / 2).sin())
        if L > 2:
            bound = torch.minimum(bound, torch.expm1(integral) / (2 * (low / 2).sin()))
        within_reach = (width * (L - 2) <= angle)[:, None]
        best = torch.maximum(best, bound.where(within_reach, 0.0).max())
    return best
