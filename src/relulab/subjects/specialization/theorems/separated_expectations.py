r"""LM.A1, the separation of expectations (LM assumption 1, eqs. 4 and 5). It is an assumption, not a theorem.

For nodes j, j° of a hidden layer of student and teacher, and k, k° of the layer below,

    E[β*_{jj°} f'_j f'_{j°} f_k f_{k°}] = E[β*_{jj°}] E[f'_j f'_{j°}] E[f_k f_{k°}],                             (4)
    E[β_{jj'} f'_j f'_{j'} f_k f_{k'}] = E[β_{jj'}] E[f'_j f'_{j'}] E[f_k f_{k'}].                               (5)

The paper does not say when this is true, and for random or trained networks it is not: REFUTED here means that the
assumption is off for these networks, and by how much. It is exact where gates and β are constant, for example if all
nodes are active at all inputs, and in some symmetric cases (``tools.separable_pairs``). At the outputs there are no
gates and β = 1, so that the top layer of weights always satisfies it.
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import differ
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.initial import torch_default
from relulab.subjects.specialization.instruments.expectation_gaps import Gap
from relulab.subjects.specialization.tools.exact_separation import (
    EQUATIONS,
    SYMBOLS,
    Exact,
    exact_separation,
    gap_words,
    largest_gaps,
)
from relulab.subjects.specialization.tools.matched_pair import matched_pair
from relulab.subjects.specialization.tools.separable_pairs import Pair, mirrored_pair, open_pair

FINEST = 0.01  # relative difference that the points must be able to show; otherwise the check is undecided
ERRORS = 4  # allowed difference in standard errors


def separated_expectations(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "*lane N d"], *, nodes: int = 6
) -> Finding:
    """Measure in every hidden layer whether the expectations separate, for combinations of a few nodes.

    If they separate over the given points up to rounding, the assumption holds. Otherwise the points are taken as a
    sample, and it is off if the relative difference is more than four standard errors from 0.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module, with one lane or as many lanes as the student.
        student: Another such network with the same inputs. The assumption requires the same depth and outputs, too.
        x: Points, (N, d) or (lane, N, d), drawn independently; with fewer than 16, a difference proves nothing.
        nodes: Largest number of nodes per layer and network whose combinations are compared, at least 1.

    Returns:
        Two checks per hidden layer, eq. 4 and eq. 5. The details say how far both sides differ, and how far the terms
        of theorem 2 that consist of them.

    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> x = torch.randn(400, 3, generator=torch.Generator().manual_seed(0))
    >>> separated_expectations(teacher, student, x).verdict.name
    'REFUTED'
    """
    at_least(1, nodes=nodes)
    pair = matched_pair(teacher, student, x)
    if not pair.matches:
        return Finding(pair.conditions, ())
    star, net, x, conditions = pair.scaled()
    exact = exact_separation(star, net, x, nodes)
    gaps = largest_gaps(star, net, x, nodes)
    checks = [
        _check(l, which, nodes, one, gap)
        for l, layer in enumerate(zip(exact, gaps, strict=True), 1)
        for which, (one, gap) in enumerate(zip(*layer, strict=True))
    ]
    return Finding(conditions, tuple(checks))


def _check(l: int, which: int, nodes: int, exact: Exact, gap: Gap) -> Check:
    says = f"In layer {l}, {EQUATIONS[which]}"
    if exact.equal:
        measured, error, finest, words = exact.gap, exact.allowance, math.inf, differ(exact.gap, exact.allowance)
    else:
        measured, error, words = gap.entries.squared, ERRORS * gap.entries.error, gap_words(gap)
        finest = math.inf if abs(measured) > error else FINEST**2
    if abs(measured) <= error and not exact.complete:  # nothing is known of the other nodes
        measured, words = math.nan, f"unknown, because only {nodes} nodes per layer were compared"
    return Check(says, measured, "==", 0.0, error, finest, words)


def _random(widths: tuple[int, ...] = (4, 7, 5, 2)) -> Pair:
    rng = stream(0, Role.DEMONSTRATION, 12)
    star, net = torch_default((4, 5, 4, 2), seeds=[0]), torch_default(widths, seeds=[1])
    return star, net, torch.from_numpy(rng.standard_normal((2000, 4)))


def _rng() -> np.random.Generator:
    return stream(0, Role.DEMONSTRATION, 13)


THEOREM = Theorem(
    id="LM.A1",
    title="Separation of expectations",
    statement="In every hidden layer, E[β*_{jj°} f'_j f'_{j°} f_k f_{k°}] = E[β*_{jj°}] E[f'_j f'_{j°}] E[f_k f_{k°}] "
    "and E[β_{jj'} f'_j f'_{j'} f_k f_{k'}] = E[β_{jj'}] E[f'_j f'_{j'}] E[f_k f_{k'}]. This is an assumption: "
    "“refuted” means that it is off for the given networks.",
    symbols=SYMBOLS,
    source="LM assumption 1, eqs. 4 and 5",
    in_print="The paper assumes this without a condition. It is off by 20% to more than 100% for random networks.",
    check=separated_expectations,
    on={TeacherStudent: separated_expectations},
    demonstrations=(
        Demonstration(
            "All nodes are active at all points",
            Verdict.HOLDS,
            lambda: separated_expectations(*open_pair(_rng()), nodes=8),
        ),
        Demonstration(
            "Co-linear weights in the first layer, points x and −x",
            Verdict.HOLDS,
            lambda: separated_expectations(*mirrored_pair(_rng()), nodes=8),
        ),
        Demonstration(
            "Student deeper than the teacher",
            Verdict.NOT_APPLICABLE,
            lambda: separated_expectations(*_random((4, 5, 4, 4, 2))),
        ),
        Demonstration(
            "Negative control: random networks and Gaussian inputs",
            Verdict.REFUTED,
            lambda: separated_expectations(*_random()),
        ),
    ),
)
