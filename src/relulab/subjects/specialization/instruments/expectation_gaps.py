"""How far LM's Assumption 1 is off in every hidden layer: expectations of products against products of expectations."""

from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.core.threads import threads_for
from relulab.lab.instrument import instrument
from relulab.nets.hooks import hidden, points
from relulab.nets.mlp import MLP, as_mlp, check_points
from relulab.subjects.specialization.instruments.layer_means import check_pair
from relulab.subjects.specialization.tools.group_gap import FEWEST, GroupGap, group_gap, groups_of
from relulab.subjects.specialization.tools.separated_entries import picked, separated_entries
from relulab.subjects.specialization.tools.streamed_means import Network, streamed_means
from relulab.subjects.specialization.tools.weight_velocity import exact_velocity, separated_velocity


class ExpectationGaps(NamedTuple):
    """Relative differences between the two sides of eq. 4 (``pull``) and eq. 5 (``push``), each with a standard error.

    Attributes:
        pull: ‖E[…] − L* W* H*‖/‖E[…]‖ for the term of the teacher in the velocity Ẇ of the weights into the layer.
        pull_error: Its standard error.
        push: The same for the term of the student's own nodes, L W H.
        push_error: Its standard error.
        pull_entries: Root mean square difference of both sides of eq. 4 over index quadruples (j, j°, k, k°), divided
            by the root mean square of the left side.
        pull_entries_error: Its standard error.
        push_entries: The same for eq. 5.
        push_entries_error: Its standard error.
    """

    pull: Float[Tensor, "*lane"]
    pull_error: Float[Tensor, "*lane"]
    push: Float[Tensor, "*lane"]
    push_error: Float[Tensor, "*lane"]
    pull_entries: Float[Tensor, "*lane"]
    pull_entries_error: Float[Tensor, "*lane"]
    push_entries: Float[Tensor, "*lane"]
    push_entries_error: Float[Tensor, "*lane"]


class Gap(NamedTuple):
    """How far eq. 4, or eq. 5, is off in one hidden layer: in its term of the velocity, and in single entries."""

    term: GroupGap
    entries: GroupGap


@instrument(source="LM assumption 1, eqs. 4 and 5", ids=("LM.A1",))
def expectation_gaps(
    teacher: nn.Module,
    student: nn.Module,
    x: Float[Tensor | np.ndarray, "*lane N d"],
    *,
    nodes: int = 6,
    root: int = 0,
) -> dict[str, ExpectationGaps]:
    r"""Measure how far expectations of products are from products of expectations, relative to the former.

    Assumption 1 says E[β*_{jj°} f'_j f'_{j°} f_k f_{k°}] = E[β*_{jj°}] E[f'_j f'_{j°}] E[f_k f_{k°}] for nodes j, j° of
    a layer and k, k° of the layer below, and the same without stars. Two numbers say how far this is off: the
    difference of single entries, at combinations of a few nodes, and the difference that it makes to the velocity of
    the weights in theorem 2, where the entries are weighted and summed. 0 means that the expectations separate. Both
    are estimated without bias from sampling, from eight disjoint groups of points.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module, with one lane or as many lanes as the student.
        student: Another such network with the same inputs, outputs and depth.
        x: Points, (N, d) or (lane, N, d), at least 16, drawn independently.
        nodes: Largest number of nodes per layer and network whose combinations are compared one by one, at least 1.
        root: Root seed of their choice.

    Returns:
        The gaps for each hidden layer, by name, with a lane axis for an ``MLP``.

    >>> from relulab.nets.initial import torch_default
    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> x = torch.randn(400, 3, generator=torch.Generator().manual_seed(0))
    >>> bool(expectation_gaps(teacher, student, x)["1"].pull > 0.1)
    True
    """
    star, net, x = as_mlp(teacher), as_mlp(student), points(x).detach()
    at_least(1, nodes=nodes)
    check_pair(star, net)
    check_points(net, x.to(net.dtype))
    if x.shape[-2] < FEWEST:
        raise UserError(f"expected at least {FEWEST} points for a standard error, got {x.shape[-2]}: give more points")
    names = [str(l) for l in range(1, net.depth)] if isinstance(student, MLP) else list(hidden(student, x[:1]))
    device, x = x.device, x.cpu().double().expand(net.lanes, *x.shape[-2:])
    star, net = (one if device.type == "cpu" else deepcopy(one).cpu() for one in (star, net))
    lanes = [lane_gaps(star, net, i, x[i], nodes, root) for i in range(net.lanes)]
    found = {}
    for name, of_lanes in zip(names, zip(*lanes, strict=True), strict=True):
        gaps = [[*(gap.term for gap in pair), *(gap.entries for gap in pair)] for pair in of_lanes]
        numbers = [[n for gap in four for n in (gap.relative, gap.relative_error)] for four in gaps]
        columns = torch.tensor(numbers, dtype=torch.float64).to(device, net.dtype).T
        found[name] = ExpectationGaps(*(columns if isinstance(student, MLP) else columns[:, 0]))
    return found


def lane_gaps(
    teacher: MLP, student: MLP, lane: int, x: Float[Tensor, "N d"], nodes: int, root: int = 0
) -> list[tuple[Gap, Gap]]:
    """Return how far eqs. 4 and 5 are off in every hidden layer of one lane.

    With fewer than 16 points, the standard errors are infinite.

    Args:
        teacher: The teachers, one or as many as students.
        student: The students.
        lane: Number of the student.
        x: Points, (N, d), in float64.
        nodes: Largest number of nodes per layer and network that are compared one by one.
        root: Root seed of the choice of nodes.
    """
    a, b = Network.of(student, lane), Network.of(teacher, lane % teacher.lanes)
    groups, rng = groups_of(x), stream(root, Role.CHANCE, 0)
    with threads_for(a.W[-1].shape[1] * max(W.numel() for W in a.W) / 4):
        velocities = []
        for group in groups:
            means, means_star = streamed_means(a, [a, b], group)
            velocities.append((exact_velocity(a, b, group), separated_velocity(a, b, means, means_star)))
        entries = []
        for net, bias in ((b, teacher.bias), (a, student.bias)):
            picks, _ = picked(a, net, (student.bias, bias), nodes, rng)
            entries.append([separated_entries(a, net, group, picks) for group in groups])
    found = []
    for l in range(a.depth - 1):
        rows = a.W[l].shape[0] - (not student.bias)  # without the biases, if there are none
        terms = [
            group_gap([(exact[i][l][:rows], separated[i][l][:rows]) for exact, separated in velocities]) for i in (0, 1)
        ]
        single = [group_gap([group[l] for group in of_groups]) for of_groups in entries]
        of_teacher, of_student = (Gap(*pair) for pair in zip(terms, single, strict=True))
        found.append((of_teacher, of_student))
    return found
