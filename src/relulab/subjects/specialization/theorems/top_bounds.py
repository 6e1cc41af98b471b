r"""LM.L3, what other nodes contribute to the push on a fan-out, at most (LM lemma 3, section 8.4).

Let all input weights have norm one, let δw_j = w_j − w*_j, δv_j = v_j − v*_j, q*_jk = v*_k l*_jk and q_jk = v_k l_jk.
With K_l of assumption 2 within the largest angle of a student, and ϵ_l of assumption 3, for all j ≠ k,

    ‖q*_jk − q_jk‖ ≤ l*_jk (‖δv_k‖ + K_l ‖v_k‖ ‖δw_k‖)                        (30, corrected)
    l*_jk ≤ ϵ_l (1 + K_l ‖δw_j‖)² l*_jj                                      (31, corrected)

(30) is printed as (1 + K_l) l*_jk ‖δw_k‖, without δv_k: it would be 0 for students that point along their teacher
nodes, whatever their fan-outs. This is the negative control. With ‖δv_k‖ in place of ‖δw_k‖, as the proof of theorem 5
uses it, the bound is false as well, if fan-outs are right and weights are not.
"""

from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.angle import norms
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.theorems.bottom_bounds import SYMBOLS
from relulab.subjects.specialization.tools.gaussian_inputs import gaussian_inputs
from relulab.subjects.specialization.tools.lucky_examples import lucky_pair
from relulab.subjects.specialization.tools.lucky_nodes import near_conditions
from relulab.subjects.specialization.tools.lucky_students import lucky_students
from relulab.subjects.specialization.tools.near_pairs import (
    at_most,
    constants,
    near_overlaps,
    nearest_only,
    pair_conditions,
    pairs,
)
from relulab.subjects.specialization.tools.nodes import lowest


def top_bounds(
    teacher: nn.Module, student: nn.Module, *, std: float = 1.0, as_printed: bool = False, as_used: bool = False
) -> Finding:
    """Compare both inequalities for all pairs of students near teacher nodes, for inputs from N(0, std² I).

    Args:
        teacher: One two-layer ReLU network, with at least two hidden nodes.
        student: Another one with the same inputs and outputs, with at least as many hidden nodes. Those that are not
            nearest to a teacher node are left out.
        std: Standard deviation of the inputs, above 0.
        as_printed: True takes (1 + K_l) l*_jk ‖δw_k‖ in (30), as printed. This is a negative control.
        as_used: True takes (1 + K_l) l*_jk ‖δv_k‖ in (30), as eq. 57 does. This is a negative control.

    >>> top_bounds(*lucky_pair()).verdict.name
    'HOLDS'
    """
    pair = lucky_students(teacher, student, std)
    lucky = nearest_only(pair.lucky)
    conditions = (*near_conditions(lucky), *pair_conditions(lucky))
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    (_, K_l), (_, epsilon_l) = constants(lucky)
    to_star, to_each_other = near_overlaps(lucky)
    v, v_star = pair.v[: lucky.m], pair.v_star
    moved, off = norms(lucky.u - lucky.star), norms(v - v_star)
    j, k = pairs(lucky.m)
    push = to_star.L[j, k, None] * v_star[k] - to_each_other.L[j, k, None] * v[k]
    by, name = off[k] + K_l * norms(v)[k] * moved[k], "(‖δv_k‖ + K_l ‖v_k‖ ‖δw_k‖)"
    if as_printed or as_used:
        by, name = (1 + K_l) * (moved if as_printed else off)[k], f"(1 + K_l) ‖δ{'w' if as_printed else 'v'}_k‖"
    own = epsilon_l * (1 + K_l * moved[j]).square() * to_star.L[j, j]
    return Finding(
        conditions,
        (
            at_most(f"‖q*_jk − q_jk‖ ≤ l*_jk {name} for all j ≠ k", norms(push), to_star.L[j, k] * by),
            at_most("l*_jk ≤ ϵ_l (1 + K_l ‖δw_j‖)² l*_jj for all j ≠ k", to_star.L[j, k], own),
        ),
    )


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> Finding:
    """Check two-layer networks, for inputs with the standard deviation of the points.

    Args:
        teacher: One two-layer ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), which must be a sample of N(0, σ² I).
    """
    std, gaussian = gaussian_inputs(x, lowest(teacher).w)
    finding = top_bounds(teacher, student, std=std)
    return Finding((*gaussian, *finding.conditions), finding.conclusion)


THEOREM = Theorem(
    id="LM.L3",
    title="What other nodes contribute to the push on a fan-out",
    statement="For students with weights of norm one near their teacher nodes, ‖q*_jk − q_jk‖ ≤ l*_jk (‖δv_k‖ + "
    "K_l ‖v_k‖ ‖δw_k‖) and l*_jk ≤ ϵ_l (1 + K_l ‖δw_j‖)² l*_jj for all j ≠ k.",
    symbols={
        **SYMBOLS,
        "v_k": "fan-out of student k",
        "v*_k": "fan-out of teacher node k",
        "δv_k": "v_k − v*_k",
        "q_jk": "v_k l_jk",
        "q*_jk": "v*_k l*_jk",
        "l_jk": "mean product of the activations of students j and k",
        "l*_jk": "mean product of the activations of student j and teacher node k",
        "l*_jj": "mean product of the activations of student j and its teacher node",
        "ϵ_l": "largest mean product of two teacher nodes, relative to the mean square of one of them (LM.A3)",
    },
    in_print="Eq. 30 has (1 + K_l) l*_jk ‖δw_k‖, without the difference of the fan-outs. The proof of theorem 5 uses "
    "‖δv_k‖ in its place (eq. 57), which leaves out the turn of w_k. Both terms are needed. Each of the two forms is a "
    "negative control. Eq. 31 has the same slip as eq. 20.",
    source="LM lemma 3, eqs. 30 and 31",
    check=top_bounds,
    on={TeacherStudent: of_networks},
    variants=("as_printed", "as_used"),
    demonstrations=(
        Demonstration("Three orthogonal teacher nodes with bias −4, and students near them", Verdict.HOLDS,
                      lambda: top_bounds(*lucky_pair())),
        Demonstration("The same without biases, at an angle of 0.2", Verdict.HOLDS,
                      lambda: top_bounds(*lucky_pair(0.0, angle=0.2))),
        Demonstration("One teacher node", Verdict.NOT_APPLICABLE, lambda: top_bounds(*lucky_pair(m=1))),
        Demonstration("Negative control: without δv_k, as printed", Verdict.REFUTED,
                      lambda: top_bounds(*lucky_pair(angle=1e-4, off=0.5), as_printed=True)),
        Demonstration("Negative control: without δw_k, as in eq. 57", Verdict.REFUTED,
                      lambda: top_bounds(*lucky_pair(angle=0.02, off=1e-3), as_used=True)),
    ),
)  # fmt: skip
