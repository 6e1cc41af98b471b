r"""LM.L2, what other nodes contribute to the push on a student, at most (LM lemma 2, section 8.4).

Let all weights have norm one, let δw_j = w_j − w*_j, p*_jk = w*_k d*_jk and p_jk = w_k d_jk. With K_d of assumption 2
within the largest angle of a student, and ϵ_d of assumption 3, for all j ≠ k,

    ‖p*_jk − p_jk‖ ≤ (1 + K_d) d*_jk ‖δw_k‖                                  (19)
    d*_jk ≤ ϵ_d (1 + K_d ‖δw_j‖)² d*_jj                                      (20, corrected)

(20) compares d*_jk with d**_jk, then d**_jj with d*_jj. Both steps turn node j, so ‖δw_j‖ appears twice. In print, one
of the factors has ‖δw_k‖. This is false if student k has arrived and student j has not, and is the negative control.
"""

from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.angle import norms
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.terms import NEAR
from relulab.subjects.specialization.tools.gaussian_inputs import gaussian_inputs
from relulab.subjects.specialization.tools.lucky_examples import near_nodes, one_arrived
from relulab.subjects.specialization.tools.lucky_nodes import lucky_nodes, near_conditions
from relulab.subjects.specialization.tools.near_pairs import (
    at_most,
    constants,
    near_overlaps,
    nearest_only,
    pair_conditions,
    pairs,
)
from relulab.subjects.specialization.tools.nodes import Nodes, lowest


def bottom_bounds(star: Nodes, nodes: Nodes, *, std: float = 1.0, as_printed: bool = False) -> Finding:
    """Compare both inequalities for all pairs of students near teacher nodes, for inputs from N(0, std² I).

    Args:
        star: Teacher nodes, with weights (m, d) and biases (m,), at least two.
        nodes: Students, with weights (n, d) and the biases of the teacher nodes, in any order, at least m. Those that
            are not nearest to a teacher node are left out.
        std: Standard deviation of the inputs, above 0.
        as_printed: True takes ‖δw_k‖ for one ‖δw_j‖ in (20), as printed. This is the negative control.

    >>> bottom_bounds(*near_nodes()).verdict.name
    'HOLDS'
    """
    lucky = nearest_only(lucky_nodes(star, nodes, std))
    conditions = (*near_conditions(lucky), *pair_conditions(lucky))
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    K, epsilon = constants(lucky)
    to_star, to_each_other = near_overlaps(lucky)
    moved = norms(lucky.u - lucky.star)
    j, k = pairs(lucky.m)
    push = to_star.D[j, k, None] * lucky.star[k] - to_each_other.D[j, k, None] * lucky.u[k]
    own = (1 + K[0] * moved[j]) * (1 + K[0] * moved[k if as_printed else j]) * to_star.D[j, j]
    return Finding(
        conditions,
        (
            at_most("‖p*_jk − p_jk‖ ≤ (1 + K_d) d*_jk ‖δw_k‖ for all j ≠ k", norms(push),
                    (1 + K[0]) * to_star.D[j, k] * moved[k]),
            at_most(f"d*_jk ≤ ϵ_d (1 + K_d ‖δw_j‖) (1 + K_d ‖δw_{'k' if as_printed else 'j'}‖) d*_jj for all j ≠ k",
                    to_star.D[j, k], epsilon[0] * own),
        ),
    )  # fmt: skip


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> Finding:
    """Check the nodes of the lowest layers, for inputs with the standard deviation of the points.

    Args:
        teacher: One network of Linear and ReLU layers.
        student: Another one with the same inputs.
        x: Points, (N, d), which must be a sample of N(0, σ² I).
    """
    star, nodes = lowest(teacher), lowest(student)
    std, gaussian = gaussian_inputs(x, star.w)
    finding = bottom_bounds(star, nodes, std=std)
    return Finding((*gaussian, *finding.conditions), finding.conclusion)


SYMBOLS = {
    **NEAR,
    "δw_j": "w_j − w*_j",
    "δw_k": "w_k − w*_k",
    "p_jk": "w_k d_jk",
    "p*_jk": "w*_k d*_jk",
    "w_k": "weights of student k, of norm one",
    "w*_k": "weights of teacher node k, of norm one",
    "K_l": "as K_d, for the mean product of the activations",
}

THEOREM = Theorem(
    id="LM.L2",
    title="What other nodes contribute to the push on a student",
    statement="For students with weights of norm one near their teacher nodes, ‖p*_jk − p_jk‖ ≤ (1 + K_d) d*_jk ‖δw_k‖ "
    "and d*_jk ≤ ϵ_d (1 + K_d ‖δw_j‖)² d*_jj for all j ≠ k.",
    symbols=SYMBOLS,
    in_print="In eq. 20, one of the two factors has δw_k in place of δw_j. It comes from eq. 26, where d*_jk is "
    "compared with the overlap of teacher nodes j and k, which differs by a turn of node j. The printed form is "
    "false if student k has arrived and student j has not. It is the negative control.",
    source="LM lemma 2, eqs. 19 and 20",
    check=bottom_bounds,
    on={TeacherStudent: of_networks},
    variants=("as_printed",),
    demonstrations=(
        Demonstration("Four orthogonal nodes with bias −2.5, students at an angle of 0.02", Verdict.HOLDS,
                      lambda: bottom_bounds(*near_nodes())),
        Demonstration("Two orthogonal nodes without biases, one student has arrived", Verdict.HOLDS,
                      lambda: bottom_bounds(*one_arrived())),
        Demonstration("One teacher node", Verdict.NOT_APPLICABLE, lambda: bottom_bounds(*near_nodes(1))),
        Demonstration("Negative control: ‖δw_k‖ in one factor, as printed", Verdict.REFUTED,
                      lambda: bottom_bounds(*one_arrived(), as_printed=True)),
    ),
)  # fmt: skip
