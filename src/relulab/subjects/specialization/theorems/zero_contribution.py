r"""SS.C1, the contribution of unspecialized students (SS corollary 1, section C.6; S0 corollary 2).

Corollary 1 says: under the conditions of SS.T2, if every hyperplane that carries students but no teacher node is
observed by enough students, then all these unspecialized students together add nothing to the output.

By SS.T2 the bends on each such hyperplane cancel. On a hyperplane wᵀx + b = 0 with students on both sides, a linear
function is left: a σ(z) − a σ(−z) = (1 + c) a z, where c is the leaky slope (0 for plain ReLUs). It may be what another
student lacks, because σ(z) = σ(−z) + (1 + c) z: a student on the other side of a teacher node needs it. So the
corollary is false as printed. If the students on every such hyperplane are all active on the same side, their sum
vanishes with its bend, and the corollary is true.
"""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.subjects.specialization.terms import GRADIENT
from relulab.subjects.specialization.theorems.prunable_students import bends_known, counterexample, unspecialized
from relulab.subjects.specialization.theorems.student_specialization import exact_pair, finite, zero_gradient
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import EPS, Creases, creases
from relulab.subjects.specialization.tools.nodes import Nodes, lowest


def zero_contribution(
    teacher: nn.Module, student: nn.Module, region: Box | Float[Tensor, "N d"], *, one_sided: bool = False
) -> Finding:
    """Check the corollary on a box, exactly up to rounding. On finitely many points it is not applicable.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        region: A box, or points, (N, d). The corollary does not apply to finitely many points.
        one_sided: Whether to add the condition that makes the corollary true: the students on each hyperplane
            without teacher nodes are active on the same side.

    >>> zero_contribution(*exact_pair(), Box.around(3)).verdict.name
    'HOLDS'
    """
    if not isinstance(region, Box):
        return Finding(finite(teacher, student, region), ())
    pair = creases(teacher, student, region)
    spare, (observed, resolution) = unspecialized(pair), bends_known(pair)
    count, enough = int(spare.sum()), int((spare & observed).sum())
    both = int((spare & pair.opposite).sum())
    conditions = [
        *zero_gradient(pair),
        Check("Some hyperplanes carry students but no teacher node", count, ">=", 1, detail=f"{count:,} do"),
        Check("Each of them is observed by C students with independent v_k", enough, "==", count,
              detail=f"{enough:,} of {count:,} are"),
    ]  # fmt: skip
    if one_sided:
        says = "The students on each of them are active on the same side"
        conditions.append(Check(says, both, "==", 0, detail=f"{count - both:,} of {count:,} do"))
    if not all(c.holds for c in conditions):
        return Finding(tuple(conditions), ())
    most, rounding = _contribution(pair, spare, resolution)
    says = "All unspecialized students together add nothing to the outputs on the box"
    detail = f"they add up to {number(most)}; up to {number(rounding)} is rounding"
    return Finding(tuple(conditions), (Check(says, most, "==", 0.0, rounding, detail=detail),))


def _contribution(pair: Creases, spare: Tensor, resolution: Float[Tensor, " s"]) -> tuple[float, float]:
    """The largest |Σ v_k σ(w_kᵀx + b_k)| over unspecialized students on the box, and its rounding error.

    With c the leaky slope, σ(z) = c z + (1 − c) max(z, 0) and σ(−z) = −z + (1 − c) max(z, 0). So in units of the
    regular node z_s of crease s, the students there add bend_s max(z_s, 0) + linear_s z_s, where linear_s is the sum of
    c v_k‖w_k‖ over those on its side and of −v_k‖w_k‖ over those on the other one. Students without input weights add a
    constant.
    """
    nodes = lowest(pair.student)
    a = pair.v * nodes.w.norm(dim=1, keepdim=True)
    mine = (pair.of >= 0) & spare[pair.of.clamp(min=0)]
    # c on the side of the plane, −1 on the other
    part = a * (mine * (pair.student.slope * (pair.side > 0).double() - (pair.side < 0).double()))[:, None]
    slopes = a.new_zeros(len(spare), a.shape[1]).index_add_(0, pair.of.clamp(min=0), part)
    idle = pair.v * (leaky_relu(nodes.b, pair.student.slope) * (pair.of < 0))[:, None]
    linear = Nodes(slopes.T @ pair.planes.w, slopes.T @ pair.planes.b + idle.sum(0))
    reach = pair.box.reach(pair.planes).abs().amax(0)
    most = pair.box.reach(linear).abs().amax(0) + reach[spare] @ pair.bend[spare].abs()
    sizes = reach[pair.of.clamp(min=0)] * mine @ a.abs() + idle.abs().sum(0)
    rounding = float(reach[spare] @ resolution[spare]) + 8 * len(a) * EPS * float(sizes.max())
    return float(most.max()), rounding


def of_networks(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, box: bool = False, one_sided: bool = False
) -> Finding:
    """Check the corollary on networks and points from files.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d).
        box: True checks the corollary on the box spanned by the points. It does not apply to the points alone.
        one_sided: Whether students on one hyperplane must be active on the same side, with which it is true.
    """
    return zero_contribution(teacher, student, Box.of(points(x).double()) if box else x, one_sided=one_sided)


THEOREM = Theorem(
    id="SS.C1",
    title="The contribution of unspecialized students",
    statement="Let the gradient g_1 be zero on an open region that meets the boundaries of all teacher nodes, no two "
    "of which share a hyperplane. If every hyperplane that carries students but no teacher node is observed by C "
    "students with linearly independent v_k, then all students on these hyperplanes together add nothing to the "
    "output there.",
    symbols={**GRADIENT, "C": "number of outputs", "k": "a student node", "v_k": "output weights of student k"},
    in_print="The corollary is false as printed. If students are on both sides of a hyperplane, their bends cancel but "
    "a linear function is left, and a student on the other side of a teacher node needs one. The last demonstration is "
    "such a network. With `one_sided`, which requires the students on each hyperplane to be active on the same side, "
    "the corollary is true. Reading co-linear as the same direction, instead of the same hyperplane, does not help: "
    "SS.T2 is then false on the same network.",
    source="SS corollary 1, section C.6; S0 corollary 2",
    check=zero_contribution,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "Four students that cancel on two hyperplanes",
            Verdict.HOLDS,
            lambda: zero_contribution(*exact_pair(), Box.around(3)),
        ),
        Demonstration(
            "The same with leaky ReLUs of slope 0.1",
            Verdict.HOLDS,
            lambda: zero_contribution(*exact_pair(slope=0.1), Box.around(3)),
        ),
        Demonstration(
            "No unspecialized students",
            Verdict.NOT_APPLICABLE,
            lambda: zero_contribution(*exact_pair(spare=False), Box.around(3)),
        ),
        Demonstration(
            "The counterexample, with the condition that students are on the same side",
            Verdict.NOT_APPLICABLE,
            lambda: zero_contribution(*counterexample(), Box.around(3), one_sided=True),
        ),
        Demonstration(
            "Counterexample: two unspecialized students carry what a student on the other side lacks",
            Verdict.REFUTED,
            lambda: zero_contribution(*counterexample(), Box.around(3)),
        ),
    ),
)
