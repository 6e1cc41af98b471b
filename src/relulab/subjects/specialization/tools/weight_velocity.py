"""The velocity of the weights under gradient flow: exactly (LM eq. 15), and with expectations separated (LM eq. 6)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.subjects.specialization.tools.streamed_means import Means, Network, blocks_of


class Velocity(NamedTuple):
    """Ẇ_l = pull_l − push_l for l = 0, …, L − 1, where the bias is the last row and there is no column of a bias unit.

    Attributes:
        pull: The term of the teacher's nodes.
        push: The term of the student's own nodes.
    """

    pull: list[Float[Tensor, "_ _"]]
    push: list[Float[Tensor, "_ _"]]

    @property
    def total(self) -> list[Float[Tensor, "_ _"]]:
        """Ẇ_l of every layer of weights."""
        return [pull - push for pull, push in zip(self.pull, self.push, strict=True)]


@torch.no_grad()
def exact_velocity(student: Network, teacher: Network, x: Float[Tensor, "N d"]) -> Velocity:
    """Return both terms of LM eq. 15, averaged over the points, by back-propagation.

    By theorem 1, the sums over teacher nodes and over student nodes are the outputs of both networks, taken back to the
    layer by the student's gates and weights.

    Args:
        student: The student.
        teacher: The teacher, with the same inputs and outputs.
        x: Points, (N, d), in float64.
    """
    terms = [[W.new_zeros(W.shape) for W in student.W] for _ in range(2)]
    for part in blocks_of(x, student, teacher):
        f, D = student.run(part)
        for term, g in zip(terms, (teacher.run(part)[0][-1], f[-1]), strict=True):
            for l in range(student.depth - 1, -1, -1):
                term[l].addmm_(f[l].T, g)
                g = (g @ student.W[l].T).mul_(D[l])
    return Velocity(*([_nodes(student, l, sums / len(x)) for l, sums in enumerate(term)] for term in terms))


@torch.no_grad()
def separated_velocity(student: Network, teacher: Network, means: Means, means_star: Means) -> Velocity:
    """Return both terms of LM eq. 6, L*_l W*_l H*_{l+1} and L_l W_l H_{l+1}.

    Args:
        student: The student.
        teacher: The teacher.
        means: Means of the student alone.
        means_star: Means of the student with the teacher. H* has a row per student node, so it appears transposed.
    """
    return Velocity(*(
        [_nodes(student, l, m.L[l] @ net.W[l] @ m.H(l + 1).T) for l in range(student.depth)]
        for net, m in ((teacher, means_star), (student, means))
    ))  # fmt: skip


def _nodes(student: Network, l: int, term: Tensor) -> Tensor:
    """Drop the column of the bias unit, whose weights are fixed; at the top there is none."""
    return term if l + 1 == student.depth else term[:, :-1]
