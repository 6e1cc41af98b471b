"""LM's Assumption 1 over the given points: is it exact up to rounding, and if not, how far is it off?"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.lab.show.words import number
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.expectation_gaps import Gap, lane_gaps
from relulab.subjects.specialization.tools.group_gap import GroupGap
from relulab.subjects.specialization.tools.matched_pair import worst_entry
from relulab.subjects.specialization.tools.separated_entries import picked, separated_entries
from relulab.subjects.specialization.tools.streamed_means import Network

EQUATIONS = (
    "E[β*_{jj°} f'_j f'_{j°} f_k f_{k°}] = E[β*_{jj°}] E[f'_j f'_{j°}] E[f_k f_{k°}]",
    "E[β_{jj'} f'_j f'_{j'} f_k f_{k'}] = E[β_{jj'}] E[f'_j f'_{j'}] E[f_k f_{k'}]",
)
SYMBOLS = {
    "j": "a node of the student in a hidden layer; j' is another one",
    "j°": "a node of the teacher in the same layer",
    "k": "a node of the student in the layer below, or an input; k' is another one",
    "k°": "a node of the teacher in the layer below, or an input",
    "x": "an input",
    "Ẇ": "velocity of the weights under gradient flow; both expectations are parts of its terms",
    "E[]": "expectation over the inputs",
    "f_k": "activation of node k",
    "f_{k'}": "activation of node k'",
    "f_{k°}": "activation of teacher node k°",
    "f'_j": "gate of node j: 1 if it is active, otherwise 0 or the leaky slope",
    "f'_{j'}": "gate of node j'",
    "f'_{j°}": "gate of teacher node j°",
    "β*_{jj°}": "top-down modulation: the weight of teacher node j° in the gradient of node j",
    "β_{jj'}": "top-down modulation: the weight of student node j' in the gradient of node j",
}


class Exact(NamedTuple):
    """The largest difference between the two sides of eq. 4 or 5 over the given points, in one hidden layer."""

    gap: float
    allowance: float
    """what rounding may contribute to it"""
    complete: bool
    """whether the combinations of all nodes were compared"""

    @property
    def equal(self) -> bool:
        """Whether the sides are equal up to rounding."""
        return self.gap <= self.allowance


def exact_separation(teacher: MLP, student: MLP, x: Float[Tensor, "lane N d"], most: int) -> list[tuple[Exact, Exact]]:
    """Compare the two sides of eq. 4 and of eq. 5 over the given points, in every hidden layer.

    The allowance for rounding is a multiple of the same expectation of absolute values, with all gates open.

    Args:
        teacher: The teachers, one per lane.
        student: The students.
        x: Points of every lane, in float64.
        most: Largest number of nodes per layer and network; of wider layers, some nodes are drawn.
    """
    factor = 4 * (sum(student.widths) + sum(teacher.widths) + x.shape[-2]) * torch.finfo(x.dtype).eps
    rng, lanes = stream(0, Role.CHANCE, 1), []
    for lane in range(student.lanes):
        a, b = Network.of(student, lane), Network.of(teacher, lane)
        a_size, b_size = (Network.of(absolute(net), lane) for net in (student, teacher))
        equations = []
        for net, size, bias in ((b, b_size, teacher.bias), (a, a_size, student.bias)):
            picks, complete = picked(a, net, (student.bias, bias), most, rng)
            sides = separated_entries(a, net, x[lane], picks)
            sizes = separated_entries(a_size, size, x[lane].abs(), picks)
            worst = [
                worst_entry((one.together - one.separated).abs(), factor * bound.together)
                for one, bound in zip(sides, sizes, strict=True)
            ]
            equations.append([Exact(*pair, complete) for pair in worst])
        lanes.append(list(zip(*equations, strict=True)))
    found = []
    for layers in zip(*lanes, strict=True):
        of_teacher, of_student = (max(same, key=_excess) for same in zip(*layers, strict=True))
        found.append((of_teacher, of_student))
    return found


def _excess(one: Exact) -> float:
    return one.gap / max(one.allowance, torch.finfo(torch.float64).tiny)


def largest_gaps(teacher: MLP, student: MLP, x: Float[Tensor, "lane N d"], nodes: int) -> list[tuple[Gap, Gap]]:
    """Return how far eqs. 4 and 5 are off in every hidden layer, in the lane where that is most.

    Args:
        teacher: The teachers, one per lane.
        student: The students.
        x: Points of every lane, in float64.
        nodes: Largest number of nodes per layer and network that are compared one by one.
    """
    lanes = [lane_gaps(teacher, student, lane, x[lane], nodes) for lane in range(student.lanes)]
    return [
        tuple(max(same, key=lambda gap: gap.entries.squared) for same in zip(*layers, strict=True))
        for layers in zip(*lanes, strict=True)
    ]


def gap_words(gap: Gap) -> str:
    """Describe how far an equation is off in one layer.

    Args:
        gap: The gap.
    """
    return f"the two sides differ by {_share(gap.entries)}, and the terms of Ẇ made of them by {_share(gap.term)}"


def _share(gap: GroupGap) -> str:
    error = "" if gap.error == float("inf") else f" ± {share_words(gap.relative_error)}"
    return f"{share_words(gap.relative)}{error}"


def share_words(share: float) -> str:
    """Write a share as a percentage; it may be above 1.

    Args:
        share: The share.

    >>> share_words(0.5), share_words(1.2164)
    ('50%', '122%')
    """
    return f"{number(100 * share)}%"
