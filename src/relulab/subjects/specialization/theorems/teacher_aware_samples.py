r"""SS.T4, specialization from finitely many points that know the teacher (SS theorem 4; theorem 7 in section D.1).

As SS.T3 with γ = 2 and with points x ± 2ε' w̃*_j beside those x that lie in the band of node j, in place of steps along
all axes: the gradient must be small on fewer points, and fewer are needed, as √d is gone from all bounds.
"""

from jaxtyping import Float
from torch import Tensor, nn

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.tools.finite_samples import Pair, Setting, specialized
from relulab.subjects.specialization.tools.shifted_students import shifted_students

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
    """Checks theorem 4 for one teacher node, the strongest unless told, with the observer and ε' that fit best.

    Args:
        teacher: One two-layer ReLU network.
        student: Another with the same inputs and outputs.
        x: Points, (N, d), at least d + 1.
        epsilon: The alignment error ε that is allowed, above 0.
        node: Number of the teacher node, from 0. None takes the strongest.
        loose: A false variant of the statement, for the negative control: |α_kj| ε for the bound of the gradient.

    >>> teacher_aware_samples(*shifted_students(1e-4, 10), 0.5).verdict.name  # ten points are too few
    'NOT_APPLICABLE'
    """
    return specialized(Pair.of(teacher, student, x), epsilon, node, SETTING, loose)


def of_networks(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, epsilon: float = 0.1, node: int | None = None
) -> Finding:
    return teacher_aware_samples(teacher, student, x, epsilon, node=node)


THEOREM = Theorem(
    id="SS.T4",
    title="Specialization from finitely many teacher-aware points",
    statement="With enough points near the boundary of an observed teacher node and a gradient of at most "
    "|α_kj| ε'/5 on them and on points to both sides of that boundary, a student is ε-aligned with it.",
    source="SS theorem 4; theorem 7 in section D.1",
    ids=("SS.T7",),
    check=teacher_aware_samples,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "20,000 points in a square, students off by 1e-4",
            Verdict.HOLDS,
            lambda: teacher_aware_samples(*shifted_students(1e-4, 20_000), 0.5),
        ),
        Demonstration(
            "200 points: too few",
            Verdict.NOT_APPLICABLE,
            lambda: teacher_aware_samples(*shifted_students(1e-4, 200), 0.5),
        ),
        Demonstration(
            "negative control: a gradient of at most |α_kj| ε, students off by 1.1 ε",
            Verdict.REFUTED,
            lambda: teacher_aware_samples(*shifted_students(0.55, 20_000), 0.5, loose=True),
        ),
    ),
)
