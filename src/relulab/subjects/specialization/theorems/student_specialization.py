r"""SS.T1, student specialization at zero gradient (SS theorem 1, section C.4; S0 theorem 2).

Let a two-layer student have g_1(x) = 0 at every x of an open region R₀, and let no two teacher nodes share a hyperplane
and all their boundaries meet R₀. If a student k is active somewhere on the boundary of teacher node j within R₀, and
α_kj = v_kᵀv*_j ≠ 0, then some student has the very hyperplane of j.

Which side of it that student looks to is not determined: σ(z) = σ(−z) + z, and other students can add the linear z. So
the conclusion is about hyperplanes; that a student looks to the teacher's side as well is the negative control.
Finitely many points are no open region: students between which no point lies are interchangeable there. On a box
nothing is sampled: all is decided from the weights, up to the rounding that is shown.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import Creases, creases, gradient_at, largest_gradient, seen
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.teacher import teacher as random_teacher


def student_specialization(
    teacher: nn.Module, student: nn.Module, region: Box | Float[Tensor, "N d"], *, oriented: bool = False
) -> Finding:
    """Checks the theorem on a box, exactly, or says why it does not speak of a finite set of points.

    Args:
        teacher: One two-layer ReLU network.
        student: Another with the same inputs and outputs.
        region: A box, or points, (N, d), of which the theorem does not speak.
        oriented: A false variant of the statement, for the negative control: a student is asked to look to the
            teacher's side too.

    >>> student_specialization(*exact_pair(), Box.around(3)).verdict.name
    'HOLDS'
    """
    if not isinstance(region, Box):
        return Finding(finite(teacher, student, region), ())
    found = creases(teacher, student, region)
    observed = _observed(found)
    epsilon = alignment(lowest(found.teacher), lowest(found.student), either_side=not oriented).amin(1)
    counted = Check("teacher nodes that a student with α_kj ≠ 0 observes, at least one", int(observed.sum()), ">=", 1)
    says = "distance of the worst of these nodes from the hyperplane of its nearest student, in units of the box"
    worst = epsilon[observed].max() if observed.any() else torch.tensor(torch.nan)
    return Finding((*zero_gradient(found), counted), (Check(says, float(worst), "==", 0.0, found.same),))


def zero_gradient(found: Creases) -> tuple[Check, ...]:
    """Assumptions 1 and 2 of SS on a box."""
    star = lowest(found.teacher)
    distance = alignment(star, star, either_side=True).fill_diagonal_(torch.inf).min()
    low, high = found.box.reach(star)
    visible = int(((low < 0) & (high > 0)).sum())
    bound, allowance = largest_gradient(found)
    k = (bound / allowance.clamp(min=torch.finfo(bound.dtype).tiny)).argmax()
    says = "linear part and bends that v_kᵀ(f* − f) has where student k is active: both 0 at zero gradient on the box"
    return (
        Check("distance of the two nearest hyperplanes of the teacher", float(distance), ">=", 2 * found.same),
        Check("teacher nodes whose boundary meets the box, all of them", visible, "==", len(star.w)),
        Check(says, float(bound[k]), "==", 0.0, float(allowance[k])),
    )


def finite(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> tuple[Check, ...]:
    """What fails on a finite set, with the gradient that there is on it."""
    x = points(x).double()
    g_1, allowance = gradient_at(teacher, student, x)
    if not g_1.numel():
        raise UserError(f"points of shape {tuple(x.shape)}: at least one was expected")
    return (
        Check(
            f"training points, infinitely many of an open region; given were {len(x):,} (box=true: all of their box)",
            0,
            ">=",
            1,
        ),
        Check("largest |g_1| at these points", float(g_1.abs().max()), "==", 0.0, float(allowance.max())),
    )


def _observed(found: Creases) -> Bool[Tensor, " m"]:
    """Teacher nodes that some student k observes with α_kj ≠ 0, so large that g_k would tell if they had no student."""
    if not len(found.bend):
        return torch.zeros(len(found.of_star), dtype=torch.bool)
    reach = found.box.reach(lowest(found.teacher)).abs().amax(0) / lowest(found.teacher).w.norm(dim=1).clamp(min=1e-300)
    counts = (found.v @ found.v_star.T).abs() * reach > 2 * largest_gradient(found)[1][:, None]
    return (seen(found)[found.of_star.clamp(min=0)].T & counts).any(0) & (found.of_star >= 0)


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, box: bool = False) -> Finding:
    """On the points, which are finitely many, or with ``box`` on the whole box that they span."""
    return student_specialization(teacher, student, Box.of(points(x).double()) if box else x)


def exact_pair(flipped: bool = False, spare: bool = True) -> tuple[MLP, MLP]:
    """A teacher of 4 nodes in R³ and a student with the same outputs: every teacher node split over two students.

    ``spare`` adds four students on hyperplanes of their own that cancel in pairs. With ``flipped`` teacher node 0 is
    made by students that look to the other side of its hyperplane, and by two that are active on the whole cube.
    """
    star = random_teacher((3, 4, 5), seeds=[0], bias=-0.125)
    w, b = lowest(star)
    v = star.W[1].data[0]
    rows = [(2 * w[j], 2 * b[j], v[j] / 8) for j in range(4)] + [(w[j], b[j], 3 * v[j] / 4) for j in range(4)]
    if flipped:  # σ(z) = σ(−z) + z, and z = σ(z + 4) − σ(4 − z) + … on a cube where |z| < 4
        rows[0], rows[4] = (-w[0], -b[0], v[0] / 2), (-w[0], -b[0], v[0] / 2)
        rows += [(w[0], b[0] + 4, v[0] / 2), (-w[0], -b[0] + 4, -v[0] / 2)]
    if spare:
        rng = stream(0, Role.DEMONSTRATION, 3)
        for u, c, a in zip(*(torch.from_numpy(rng.standard_normal(s)) for s in ((2, 3), 2, (2, 5))), strict=True):
            rows += [(u, c / 4, a), (2 * u, c / 2, -a / 2)]
    net = MLP((3, len(rows), 5), dtype=torch.float64)
    W, B, V = (torch.stack(part) for part in zip(*rows, strict=True))
    net.W[0].data[0], net.b[0].data[0, 0], net.W[1].data[0] = W.T, B, V
    net.b[1].data.copy_(star.b[1].data)
    return star, net


def _stopped_early() -> Finding:
    star, net = exact_pair()
    net.W[0].data[0, 0, 0] += 1e-6
    return student_specialization(star, net, Box.around(3))


def _finite() -> Finding:
    star, net = exact_pair()
    return student_specialization(star, net, Box.around(3).draw(1000, torch.Generator().manual_seed(0)))


THEOREM = Theorem(
    id="SS.T1",
    title="Student specialization at zero gradient",
    statement="If g_1 = 0 on an open region, a teacher node that a student k observes there with α_kj ≠ 0 shares its "
    "hyperplane with some student.",
    source="SS theorem 1, section C.4; S0 theorem 2",
    ids=("S0.T2",),
    check=student_specialization,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "every teacher node split over two students, four more that cancel",
            Verdict.HOLDS,
            lambda: student_specialization(*exact_pair(), Box.around(3)),
        ),
        Demonstration(
            "a node made by students that look to its other side",
            Verdict.HOLDS,
            lambda: student_specialization(*exact_pair(flipped=True), Box.around(3)),
        ),
        Demonstration("a weight off by 1e-6: the gradient is not zero", Verdict.NOT_APPLICABLE, _stopped_early),
        Demonstration("the same student on 1,000 points", Verdict.NOT_APPLICABLE, _finite),
        Demonstration(
            "negative control: a student that looks to the teacher's side",
            Verdict.REFUTED,
            lambda: student_specialization(*exact_pair(flipped=True), Box.around(3), oriented=True),
        ),
    ),
)
