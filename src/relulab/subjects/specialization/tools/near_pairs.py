"""Pairs of students near their teacher nodes: their overlaps, and the constants that bound them (LM section 8.4)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.lab.show.words import number
from relulab.lab.theorem import Check
from relulab.subjects.specialization.instruments.overlap_constants import lipschitz_constants
from relulab.subjects.specialization.instruments.overlap_ratios import overlap_ratios
from relulab.subjects.specialization.tools.lucky_nodes import LuckyNodes
from relulab.subjects.specialization.tools.pair_angles import pair_angles
from relulab.subjects.specialization.tools.pair_overlap import ACCURACY, PairOverlap, pair_overlap

LARGEST = 1e12  # a larger constant says nothing


def nearest_only(lucky: LuckyNodes) -> LuckyNodes:
    """Leave out the r-set.

    Args:
        lucky: The students and their teacher nodes.
    """
    star, u, b, order, m, *rest = lucky
    return LuckyNodes(star[:m], u[:m], b[:m], order[:m], m, *rest)


def pairs(m: int) -> tuple[Tensor, Tensor]:
    """Return the indices j and k of all ordered pairs with j ≠ k.

    Args:
        m: Number of nodes.
    """
    j, k = (~torch.eye(m, dtype=torch.bool)).nonzero(as_tuple=True)
    return j, k


def constants(lucky: LuckyNodes) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return (K_d, K_l) within the largest angle of a student, and (ϵ_d, ϵ_l).

    Args:
        lucky: The students and their teacher nodes.
    """
    K_d, K_l = map(float, lipschitz_constants(lucky.nodes, float(lucky.theta.max())))
    epsilon_d, epsilon_l = map(float, overlap_ratios(lucky.nodes))
    return (K_d, K_l), (epsilon_d, epsilon_l)


def pair_conditions(lucky: LuckyNodes) -> tuple[Check, ...]:
    """The conditions that there is a pair of nodes, and that the constants exist.

    Args:
        lucky: The students and their teacher nodes.
    """
    theta = float(lucky.theta.max())
    several = Check("There are at least two teacher nodes", lucky.m, ">=", 2, detail=f"the number is {lucky.m:,}")
    near = Check("Every student is at an angle below π/2 from its teacher node", theta, "<=", math.pi / 2 - ACCURACY,
                 detail=f"the largest angle is {number(theta)} radians")  # fmt: skip
    if not (several.holds and near.holds) or theta <= 0:
        return several, near
    (K_d, K_l), _ = constants(lucky)
    finite = Check("There are constants K_d and K_l within this angle", max(K_d, K_l), "<=", LARGEST,
                   detail=f"they are {number(K_d)} and {number(K_l)}")  # fmt: skip
    return several, near, finite


def near_overlaps(lucky: LuckyNodes) -> tuple[PairOverlap, PairOverlap]:
    """Return the overlaps d*_jk, l*_jk with teacher nodes, and d_jk, l_jk of students with each other.

    Args:
        lucky: The students and their teacher nodes.
    """
    b = lucky.b
    first, second = (pair_overlap(b[:, None], b, pair_angles(lucky.u, other)) for other in (lucky.star, lucky.u))
    return first, second


def at_most(says: str, left: Float[Tensor, " p"], right: Float[Tensor, " p"]) -> Check:
    """Check left ≤ right for all pairs, up to rounding; equality holds if a student has arrived.

    Args:
        says: The inequality.
        left: The left side for all pairs.
        right: The right side, not negative.
    """
    shares = (left / right).where(left > 0, 0.0)
    largest = float(shares.max())
    detail = f"the left side is up to {number(largest)} times the right, for {len(shares):,} pairs"
    return Check(says, largest, "<=", 1 + 8 * ACCURACY, 4 * ACCURACY, detail=detail)
