r"""SS.T3, specialization from finitely many points (SS theorem 3; theorem 6 and lemmas 6 and 7 in section D.1).

Teacher node j, a student k that observes it, K = m + n nodes in all, γ = 2√d. Take ε' > 0 and let D' be the points of D
in the band |w*_jᵀx| ≤ ε' where k is active. If

    (a) D' has at least (γ + 3) K (d + 1) points,
    (b) max(M₁, M₂) ε' ≤ ε, with M₁ = (1 + γ)/t₁ and M₂ = 1 + γ + M₁ (|b_j| + t₂),
    (c) no other teacher node is ε-aligned with j,
    (d) ‖g_1(x)‖∞ ≤ |α_kj| ε'/5 at all points of D and at x ± 2√d ε' ẽ_u for every axis u,

then some student's hyperplane is ε-aligned with that of j. Here t₁ is so small that no band of half-width t₁ across D',
of a normal at right angles to w*_j, holds more than a share (1 + γ)/((3 + γ)K) of D' and d + 1 points; t₂ so large that
|ũᵀx| > t₂ for no more than that share, for any such normal.

The paper hides these in constants: ε' = ε/(c K^{3/2} √d), N = Θ(K^{5/2} d² /ε κ). Here every number is counted on the
points at hand, so that nothing is left open but the direction over which t₁ is the worst: that is bounded by a net in
up to three dimensions, and beyond them the finding is inconclusive. With η at the scale t₁ the two M are those of
eq. 41.
"""

import math

from jaxtyping import Float
from torch import Tensor, nn

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.subjects.specialization.tools.finite_samples import Pair, Setting, specialized
from relulab.subjects.specialization.tools.shifted_students import shifted_students


def polynomial_samples(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], epsilon: float, *, node: int | None = None,
    loose: bool = False
) -> Finding:  # fmt: skip
    """Checks theorem 3 for one teacher node, the strongest unless told, with the observer and ε' that fit best.

    Args:
        teacher: One two-layer ReLU network.
        student: Another with the same inputs and outputs.
        x: Points, (N, d), at least d + 1.
        epsilon: The alignment error ε that is allowed, above 0.
        node: Number of the teacher node, from 0. None takes the strongest.
        loose: A false variant of the statement, for the negative control: |α_kj| ε for the bound of the gradient.

    >>> polynomial_samples(*shifted_students(1e-4, 10), 0.5).verdict.name  # ten points are too few
    'NOT_APPLICABLE'
    """
    root = math.sqrt(points(x).shape[-1])
    return specialized(Pair.of(teacher, student, x), epsilon, node, Setting(2 * root, 2 * root, False), loose)


def of_networks(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, epsilon: float = 0.1, node: int | None = None
) -> Finding:
    return polynomial_samples(teacher, student, x, epsilon, node=node)


THEOREM = Theorem(
    id="SS.T3",
    title="Specialization from finitely many points",
    statement="With enough points near the boundary of an observed teacher node and a gradient of at most "
    "|α_kj| ε'/5 on them and their teacher-agnostic augmentation, a student is ε-aligned with it.",
    source="SS theorem 3; theorem 6 and lemmas 6 and 7 in section D.1",
    ids=("SS.T6", "SS.L6", "SS.L7"),
    check=polynomial_samples,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "40,000 points in a square, students off by 1e-4",
            Verdict.HOLDS,
            lambda: polynomial_samples(*shifted_students(1e-4), 0.5),
        ),
        Demonstration(
            "500 points: too few", Verdict.NOT_APPLICABLE, lambda: polynomial_samples(*shifted_students(1e-4, 500), 0.5)
        ),
        Demonstration(
            "students off by 0.1", Verdict.NOT_APPLICABLE, lambda: polynomial_samples(*shifted_students(0.1), 0.5)
        ),
        Demonstration(
            "negative control: a gradient of at most |α_kj| ε, students off by 1.1 ε",
            Verdict.REFUTED,
            lambda: polynomial_samples(*shifted_students(0.55), 0.5, loose=True),
        ),
    ),
)
