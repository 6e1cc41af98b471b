r"""SS.T5, alignment of the lowest layer of deep networks (SS theorem 5, sections 5.2 and D.2; S0 theorem 4).

Let teacher and student have any number of layers, not necessarily the same. In the lowest layer,
g_1(x) = D_1(x) V_1(x)ᵀ(f*_L − f_L), and α_kj(x) = v_k(x)ᵀv*_j(x) is constant within each region R where the upper
layers keep their gates. A region ends where a unit of an upper layer switches. This boundary consists of parts of
hyperplanes aᵀx + c = 0, one for each linear region of the layers below. Let D' be points of D in the band
|w*_jᵀx| ≤ ε' where k is active and α_kj ≠ 0, such that no boundary of an upper layer within γε' of them is ε-aligned
with j, where γ = 2√d. Let Q = m + n + (number of hyperplanes of upper layers that pass within γε' of a point of D'). If

    (a) D' has at least (γ + 3) Q (d + 1) points,
    (b) max(M₁, M₂) ε' ≤ ε, with the constants of SS.T3 for the Q hyperplanes,
    (c) no other teacher node is ε-aligned with j,
    (d) ‖g_1(x)‖∞ ≤ min_R |α_kj(R)| ε'/5 at all points of D and at x ± 2√d ε' ẽ_u for every axis u,

then the hyperplane of some student of the lowest layer is ε-aligned with that of j. The minimum is over the regions
that contain a point of D'. Proof: by lemma 6, some x_j in D' is farther than γε' from all other hyperplanes. So all
other units of both networks keep their gates at the three points of lemma 7, and α_kj is the same at all of them. For
units of upper layers of the teacher, both sides of the boundary of j count, because x_j ± 2√d ε' ẽ_u are on both
sides. Points that occur several times in D count once.

The paper leaves the constants open: ε' = ε/(c Q^{3/2} √d), N = O(Q^{5/2} d²/(εκ)). Here all are computed from the
points. If both networks have two layers, then Q = K, and this is SS.T3.
"""

import math

from jaxtyping import Float
from torch import Tensor, nn

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.subjects.specialization.terms import BANDS, LARGEST
from relulab.subjects.specialization.tools.deep_pairs import bent_above, deep_shifted_students
from relulab.subjects.specialization.tools.finite_samples import Gradients, Pair, Setting, specialized


def lowest_layer(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], epsilon: float, *, node: int | None = None,
    loose: bool = False, everywhere: bool = False
) -> Finding:  # fmt: skip
    """Check theorem 5 for nodes of the lowest layer, each with the k, D' and ε' that satisfy the conditions best.

    Args:
        teacher: One (leaky) ReLU network of any depth.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), at least d + 1.
        epsilon: The largest alignment error ε allowed, above 0.
        node: Index of the teacher node, from 0. None checks all nodes, and shows those to which the theorem applies.
        loose: True bounds the gradient by min |α_kj| ε only, which is not enough. This is a negative control.
        everywhere: True also uses points near which a boundary of an upper layer is ε-aligned with j, as in print. This
            is a negative control.

    >>> lowest_layer(*deep_shifted_students(1e-4, 10), 0.5).verdict.name  # ten points are too few
    'NOT_APPLICABLE'
    """
    root = math.sqrt(points(x).shape[-1])
    pair, setting = Pair.of(teacher, student, x, any_depth=True), Setting(2 * root, 2 * root, False, everywhere)
    known: Gradients = {}
    if node is not None:
        return specialized(pair, epsilon, node, setting, loose, known)
    return joined([specialized(pair, epsilon, j, setting, loose, known) for j in range(len(pair.star.b))])


def joined(findings: list[Finding]) -> Finding:
    """Join the findings for all teacher nodes: those to which the theorem applies, otherwise the nearest to it.

    Args:
        findings: One finding per node, at least one.
    """
    applies = [f for f in findings if all(c.holds for c in f.conditions)]
    if not applies:
        undecided = [f for f in findings if f.verdict is Verdict.INCONCLUSIVE]
        return (undecided or [max(findings, key=lambda f: sum(c.holds is True for c in f.conditions))])[0]
    return Finding(
        tuple(c for f in applies for c in f.conditions),
        tuple(c for f in applies for c in f.conclusion),
    )


def of_networks(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, epsilon: float = 0.1, node: int | None = None
) -> Finding:
    """Check theorem 5 on networks and points from files.

    Args:
        teacher: One (leaky) ReLU network of any depth.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), at least d + 1.
        epsilon: The largest alignment error ε allowed, above 0.
        node: Index of the teacher node, from 0. None checks all nodes, and shows those to which the theorem applies.
    """
    return lowest_layer(teacher, student, x, epsilon, node=node)


THEOREM = Theorem(
    id="SS.T5",
    title="Alignment of the lowest layer of deep networks",
    statement="Let j be a teacher node of the lowest layer, which student k observes with α_kj ≠ 0. Let D' be such "
    "points within ε' of the boundary of j where k is active, near which no boundary of an upper layer is ε-aligned "
    "with j. Let max(M₁, M₂) ε' ≤ ε. If D' has at least (γ + 3) Q (d + 1) points, if ‖g_1‖∞ ≤ min |α_kj| ε'/5 on all "
    "points and on their teacher-agnostic augmentation, and if no other teacher node is ε-aligned with j, then the "
    "hyperplane of some student of the lowest layer is ε-aligned with that of j.",
    symbols={
        **BANDS,
        "j": "a teacher node of the lowest layer",
        "k": "a student node of the lowest layer",
        "v_k": "derivatives of the outputs with respect to student node k",
        "v*_j": "derivatives of the outputs with respect to teacher node j, for weights of norm one",
        "α_kj": "v_kᵀv*_j, constant in each region where the upper layers keep their gates",
        "K": "number of nodes of both lowest layers",
        "min |α_kj|": "the smallest value over the regions that contain a point of D'",
        "D'": "the points near the boundary of j that are used",
        "Q": "K plus the number of hyperplanes that boundaries of the upper layers follow within γε' of a point of D'",
        "γ": "2√d",
        "g_1": "back-propagated gradient at the lowest layer of the student",
        **LARGEST,
    },
    in_print="The statement needs one more condition: the proof finds a boundary that is ε-aligned with j among all Q, "
    "but it may belong to a unit of an upper layer. A student whose second layer bends where teacher node j does can "
    "have the outputs of the teacher, and no lowest node near j; a negative control shows it. So points near such "
    "boundaries are not used. As printed, the bound on the gradient has the minimum of α_kj over all regions, without "
    "an absolute value. It is zero as soon as the layers above k or j are inactive anywhere. The proof needs only the "
    "regions that contain a point of D'. There, only boundaries that pass nearby count for Q. On the two sides of j, "
    "the upper layers of the teacher follow different hyperplanes; both count. The number of points and the bound on "
    "the gradient are printed up to constants only, which are computed here.",
    source="SS theorem 5, sections 5.2 and D.2; S0 theorem 4",
    ids=("S0.T4",),
    check=lowest_layer,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "Three layers, 8,000 points in a square, student biases off by 10⁻⁴",
            Verdict.HOLDS,
            lambda: lowest_layer(*deep_shifted_students(1e-4), 0.5, node=0),
        ),
        Demonstration(
            "The same with leaky ReLUs of slope 0.1",
            Verdict.HOLDS,
            lambda: lowest_layer(*deep_shifted_students(1e-4, slope=0.1), 0.5, node=0),
        ),
        Demonstration(
            "Student biases off by 0.1",
            Verdict.NOT_APPLICABLE,
            lambda: lowest_layer(*deep_shifted_students(0.1), 0.5, node=0),
        ),
        Demonstration(
            "A student whose second layer bends where the teacher node does",
            Verdict.NOT_APPLICABLE,
            lambda: lowest_layer(*bent_above(), 0.5, node=0),
        ),
        Demonstration(
            "Students that cancel, with weights of 10¹⁵: rounding hides the gradient",
            Verdict.INCONCLUSIVE,
            lambda: lowest_layer(*deep_shifted_students(1e-4, spare=1e15), 0.5, node=0),
        ),
        Demonstration(
            "Negative control: the same with points near the boundary of the second layer, as in print",
            Verdict.REFUTED,
            lambda: lowest_layer(*bent_above(), 0.5, node=0, everywhere=True),
        ),
        Demonstration(
            "Negative control: gradient bound min |α_kj| ε, student biases off by 1.1 ε",
            Verdict.REFUTED,
            lambda: lowest_layer(*deep_shifted_students(0.55), 0.5, node=0, loose=True),
        ),
    ),
)
