"""Students near their teacher nodes: who belongs to whom, and how far away they are (LM section 3)."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.core.angle import unit_angle
from relulab.core.errors import UserError
from relulab.lab.show.words import number
from relulab.lab.theorem import Check
from relulab.subjects.specialization.instruments.overlaps import standardized
from relulab.subjects.specialization.tools.matching import one_to_one
from relulab.subjects.specialization.tools.nodes import Nodes
from relulab.subjects.specialization.tools.pair_angles import pair_angles

SAME = 1e-6  # biases that differ by less, relative to 1 and to the largest one, count as equal: float32 has no more
AWAY = 1e-8  # a student at a smaller angle counts as equal to its teacher node


class LuckyNodes(NamedTuple):
    """Teacher nodes and students, with weights of norm one, for inputs from N(0, I).

    Args:
        star: Weights of the teacher nodes, and of the r-set as it starts, which LM treats as its own teacher, (n, d).
        u: Weights of the students, the u-set first, one for each teacher node, (n, d).
        b: Biases of ``star``, which the students share, (n,).
        order: The students in this order, as indices of the given ones, (n,).
        m: Number of teacher nodes.
        shift: Largest difference between the biases of a teacher node and its student.
        allowed: The largest difference that counts as rounding.
    """

    star: Float[Tensor, "n d"]
    u: Float[Tensor, "n d"]
    b: Float[Tensor, " n"]
    order: Int[Tensor, " n"]
    m: int
    shift: float
    allowed: float

    @property
    def theta(self) -> Float[Tensor, " m"]:
        """The angles θ_j between teacher nodes and their students."""
        return unit_angle(self.u[: self.m], self.star[: self.m])

    @property
    def nodes(self) -> Nodes:
        """The teacher nodes and the r-set at the start."""
        return Nodes(self.star, self.b)


def lucky_nodes(star: Nodes, nodes: Nodes, std: float = 1.0) -> LuckyNodes:
    """Give every teacher node the nearest student, no student twice, by angles and differences of biases.

    The other students are the r-set. Biases are those of the teacher, so a student whose bias differs from that of its
    teacher node by more than rounding does not satisfy ``conditions``.

    Args:
        star: Teacher nodes, with weights (m, d) and biases (m,).
        nodes: At least as many students, with weights (n, d) and biases (n,).
        std: Standard deviation of the inputs.
    """
    if star.w.dim() != 2 or nodes.w.dim() != 2 or star.w.shape[1] != nodes.w.shape[1]:
        raise UserError(
            f"expected nodes of one teacher and one student with the same inputs, got weights of shapes "
            f"{tuple(star.w.shape)} and {tuple(nodes.w.shape)}: give one row per node"
        )
    if len(star.b) > len(nodes.b) or not len(star.b):
        raise UserError(
            f"expected a student with at least as many nodes as its teacher, got {len(nodes.b)} and {len(star.b)} "
            "nodes: use a wider student"
        )
    (w_star, b_star), (w, b) = standardized(star, std), standardized(nodes, std)
    gap = (b_star[:, None] - b).abs()
    chosen = one_to_one(-(pair_angles(w_star, w) + gap))
    others = torch.tensor([k for k in range(len(b)) if k not in {*chosen.tolist()}], dtype=torch.long)
    order = torch.cat([chosen, others])
    shift = float(gap[torch.arange(len(chosen)), chosen].max())
    allowed = SAME * (1 + float(b_star.abs().max()))
    star_and_others = torch.cat([w_star, w[others]])
    return LuckyNodes(star_and_others, w[order], torch.cat([b_star, b[others]]), order, len(b_star), shift, allowed)


def near_conditions(lucky: LuckyNodes) -> tuple[Check, ...]:
    """The conditions on the students that all theorems of LM share.

    Args:
        lucky: The students and their teacher nodes.
    """
    theta = float(lucky.theta.max())
    return (
        Check("Each of these students has the bias of its teacher node", lucky.shift, "==", 0.0, lucky.allowed,
              detail=f"biases differ by at most {number(lucky.shift)}; up to {number(lucky.allowed)} is rounding"),
        Check("At least one student starts away from its teacher node", theta, ">=", AWAY,
              detail=f"the largest angle is {number(theta)} radians"),
    )  # fmt: skip
