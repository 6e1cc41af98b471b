r"""SS.T3, specialization from finitely many points (SS theorem 3; theorem 6 and lemmas 6 and 7 in section D.1).

Let student k observe teacher node j, let K = m + n be the number of nodes of both networks, and γ = 2√d. Take ε' > 0
and let D' be the points of D in the band |w*_jᵀx| ≤ ε' where k is active. If

    (a) D' has at least (γ + 3) K (d + 1) points,
    (b) max(M₁, M₂) ε' ≤ ε, with M₁ = (1 + γ)/t₁ and M₂ = 1 + γ + M₁ (|b_j| + t₂),
    (c) no other teacher node is ε-aligned with j,
    (d) ‖g_1(x)‖∞ ≤ |α_kj| ε'/5 at all points of D and at x ± 2√d ε' ẽ_u for every axis u,

then the hyperplane of some student is ε-aligned with that of j. In the constants, s = (1 + γ)/((3 + γ)K): every band of
half-width t₁ whose normal is the part ũ of another node's w̃ orthogonal to w*_j contains at most s|D'| + d + 1 points of
D', and |ũᵀx| > t₂ for at most s|D'| points of D'.

The paper leaves these constants open: ε' = ε/(c K^{3/2} √d), N = Θ(K^{5/2} d²/(εκ)). Here all numbers are computed from
the given points. Definition 6 asks for bands with every normal. The proof of lemma 6 uses only the K − 1 normals of the
other nodes, so t₁ is exact in any dimension. With η at the scale t₁, M₁ and M₂ are those of eq. 41.

Leaky ReLUs: with the slope c* of the teacher, the second difference of h in lemma 7 has the factor 1 − c*, and so has
the bound in (d). With the slope c > 0 of the student, k also has a gradient where it is not active. D' may be the
points of the band where k is not active; then the bound in (d) has another factor c.
"""

import math

from jaxtyping import Float
from torch import Tensor, nn

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.subjects.specialization.terms import BANDS, GRADIENT, LARGEST, PAIR
from relulab.subjects.specialization.tools.finite_samples import Pair, Setting, specialized
from relulab.subjects.specialization.tools.shifted_students import near_copy, shifted_students


def polynomial_samples(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], epsilon: float, *, node: int | None = None,
    loose: bool = False
) -> Finding:  # fmt: skip
    """Check theorem 3 for one teacher node, with the observer k and the width ε' that satisfy the conditions best.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), at least d + 1.
        epsilon: The largest alignment error ε allowed, above 0.
        node: Index of the teacher node, from 0. None takes the strongest node.
        loose: True bounds the gradient by |α_kj| ε only, which is not enough. This is the negative control.

    >>> polynomial_samples(*shifted_students(1e-4, 10), 0.5).verdict.name  # ten points are too few
    'NOT_APPLICABLE'
    """
    root = math.sqrt(points(x).shape[-1])
    return specialized(Pair.of(teacher, student, x), epsilon, node, Setting(2 * root, 2 * root, False), loose)


def of_networks(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, epsilon: float = 0.1, node: int | None = None
) -> Finding:
    """Check theorem 3 on networks and points from files.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), at least d + 1.
        epsilon: The largest alignment error ε allowed, above 0.
        node: Index of the teacher node, from 0. None takes the strongest node.
    """
    return polynomial_samples(teacher, student, x, epsilon, node=node)


THEOREM = Theorem(
    id="SS.T3",
    title="Specialization from finitely many points",
    statement="Let student k observe teacher node j with α_kj ≠ 0, and let max(M₁, M₂) ε' ≤ ε. If at least (γ + 3) K "
    "(d + 1) points lie within ε' of the boundary of j where k is active, if ‖g_1‖∞ ≤ |α_kj| ε'/5 on all points and "
    "on their teacher-agnostic augmentation, and if no other teacher node is ε-aligned with j, then the hyperplane of "
    "some student is ε-aligned with that of j.",
    symbols={
        **PAIR,
        **BANDS,
        "γ": "2√d",
        **GRADIENT,
        **LARGEST,
    },
    in_print="The paper gives the number of points and the bound on the gradient up to constants only. Here all "
    "constants are computed from the given points. In the proof of lemma 6, the bias of the flipped hyperplane has "
    "the wrong sign. With this correction, a student that is active on the other side of the hyperplane counts as "
    "aligned, too. Definition 6 is about bands in all directions. The proof uses only those of the other nodes, so "
    "only these are measured. For leaky ReLUs, the bound on the gradient has a factor 1 − c*, as in lemma 7; with "
    "plain ReLUs c* = 0. For random data, the constant of definition 6 that bounds the density of points grows without "
    "bound with their number, so the density is measured at the scale t₁ instead.",
    source="SS theorem 3; theorem 6 and lemmas 6 and 7 in section D.1",
    ids=("SS.T6", "SS.L6", "SS.L7"),
    check=polynomial_samples,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "40,000 points in a square, student biases off by 10⁻⁴",
            Verdict.HOLDS,
            lambda: polynomial_samples(*shifted_students(1e-4), 0.5),
        ),
        Demonstration(
            "The same with leaky ReLUs of slope 0.1",
            Verdict.HOLDS,
            lambda: polynomial_samples(*shifted_students(1e-4, slope=0.1), 0.5),
        ),
        Demonstration(
            "Five inputs: 60,000 Gaussian points, student weights off by 10⁻⁶",
            Verdict.HOLDS,
            lambda: polynomial_samples(*near_copy(60_000), 0.9),
        ),
        Demonstration(
            "Only 500 points", Verdict.NOT_APPLICABLE, lambda: polynomial_samples(*shifted_students(1e-4, 500), 0.5)
        ),
        Demonstration(
            "Student biases off by 0.1", Verdict.NOT_APPLICABLE, lambda: polynomial_samples(*shifted_students(0.1), 0.5)
        ),
        Demonstration(
            "Negative control: gradient bound |α_kj| ε, student biases off by 1.1 ε",
            Verdict.REFUTED,
            lambda: polynomial_samples(*shifted_students(0.55), 0.5, loose=True),
        ),
    ),
)
