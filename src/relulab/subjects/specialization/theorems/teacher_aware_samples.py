r"""SS.T4, specialization from finitely many teacher-aware points (SS theorem 4; theorem 7 in section D.1).

Like SS.T3, but with γ = 2 and another augmentation: points x ± 2ε' w̃*_j are added for each x in the band of node j,
instead of steps along all axes. The gradient must be small on fewer added points, and the factor √d disappears from all
bounds, so that fewer points are needed. Leaky ReLUs change the bound on the gradient as in SS.T3.
"""

from jaxtyping import Float
from torch import Tensor, nn

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.terms import BANDS, GRADIENT, LARGEST, PAIR
from relulab.subjects.specialization.tools.finite_samples import Pair, Setting, specialized
from relulab.subjects.specialization.tools.shifted_students import near_copy, shifted_students

SETTING = Setting(gamma=2.0, step=2.0, aware=True)


def teacher_aware_samples(
    teacher: nn.Module,
    student: nn.Module,
    x: Float[Tensor, "N d"],
    epsilon: float,
    *,
    node: int | None = None,
    loose: bool = False,
) -> Finding:
    """Check theorem 4 for one teacher node, with the observer k and the width ε' that satisfy the conditions best.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), at least d + 1.
        epsilon: The largest alignment error ε allowed, above 0.
        node: Index of the teacher node, from 0. None takes the strongest node.
        loose: True bounds the gradient by |α_kj| ε only, which is not enough. This is the negative control.

    >>> teacher_aware_samples(*shifted_students(1e-4, 10), 0.5).verdict.name  # ten points are too few
    'NOT_APPLICABLE'
    """
    return specialized(Pair.of(teacher, student, x), epsilon, node, SETTING, loose)


def of_networks(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, epsilon: float = 0.1, node: int | None = None
) -> Finding:
    """Check theorem 4 on networks and points from files.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), at least d + 1.
        epsilon: The largest alignment error ε allowed, above 0.
        node: Index of the teacher node, from 0. None takes the strongest node.
    """
    return teacher_aware_samples(teacher, student, x, epsilon, node=node)


THEOREM = Theorem(
    id="SS.T4",
    title="Specialization from finitely many teacher-aware points",
    statement="Let student k observe teacher node j with α_kj ≠ 0, and let max(M₁, M₂) ε' ≤ ε. If at least (γ + 3) K "
    "(d + 1) points lie within ε' of the boundary of j where k is active, if ‖g_1‖∞ ≤ |α_kj| ε'/5 on all points and "
    "on x ± 2ε' w̃*_j for each point x within ε' of that boundary, and if no other teacher node is ε-aligned with j, "
    "then the hyperplane of some student is ε-aligned with that of j.",
    symbols={
        **PAIR,
        **BANDS,
        "x": "a point of the data set",
        "w̃*_j": "weights of teacher node j without the bias, scaled to norm one",
        "γ": "2",
        **GRADIENT,
        **LARGEST,
    },
    in_print="The paper gives the number of points and the bound on the gradient up to constants only. Here all "
    "constants are computed from the given points. In the proof of lemma 6, the bias of the flipped hyperplane has "
    "the wrong sign. With this correction, a student that is active on the other side of the hyperplane counts as "
    "aligned, too. Definition 7 moves every point within ε of the boundary. As in the proof, only points within ε' "
    "are moved here, so that each gets a neighbor on the other side. For leaky ReLUs, the bound on the gradient has a "
    "factor 1 − c*, as in lemma 7; with plain ReLUs c* = 0.",
    source="SS theorem 4; theorem 7 in section D.1",
    ids=("SS.T7",),
    check=teacher_aware_samples,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "20,000 points in a square, student biases off by 10⁻⁴",
            Verdict.HOLDS,
            lambda: teacher_aware_samples(*shifted_students(1e-4, 20_000), 0.5),
        ),
        Demonstration(
            "The same with leaky ReLUs of slope 0.1",
            Verdict.HOLDS,
            lambda: teacher_aware_samples(*shifted_students(1e-4, 20_000, slope=0.1), 0.5),
        ),
        Demonstration(
            "Five inputs: 50,000 Gaussian points, student weights off by 10⁻⁶",
            Verdict.HOLDS,
            lambda: teacher_aware_samples(*near_copy(50_000), 0.9),
        ),
        Demonstration(
            "Only 200 points",
            Verdict.NOT_APPLICABLE,
            lambda: teacher_aware_samples(*shifted_students(1e-4, 200), 0.5),
        ),
        Demonstration(
            "Negative control: gradient bound |α_kj| ε, student biases off by 1.1 ε",
            Verdict.REFUTED,
            lambda: teacher_aware_samples(*shifted_students(0.55, 20_000), 0.5, loose=True),
        ),
    ),
)
