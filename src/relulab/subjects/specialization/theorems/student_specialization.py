r"""SS.T1, student specialization at zero gradient (SS theorem 1, section C.4; S0 theorem 2).

Let a two-layer student have g_1(x) = 0 at every x of an open region R₀. Assume that no two teacher nodes share a
hyperplane and that all their boundaries meet R₀. If a student k is active somewhere on the boundary of teacher node j
within R₀, and α_kj = v_kᵀv*_j ≠ 0, then some student has the same hyperplane as j.

The side on which that student is active is not determined: σ(z) = σ(−z) + (1 + c) z for ReLUs with leaky slope c (c = 0
for plain ones), and other students can add the linear function z. So the conclusion is about hyperplanes. The negative
control requires the same side, too. With c > 0, no gate is zero: every student observes every boundary that meets R₀,
also its own, and the gradient at k vanishes only if v_kᵀ(f* − f) does so on all of R₀. The theorem does
not apply to finitely many points: hyperplanes can move there without crossing a point. On a box nothing is sampled.
Everything is decided from the weights, up to the rounding errors shown.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.terms import GRADIENT, PAIR
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import Creases, creases, gradient_at, largest_gradient, seen
from relulab.subjects.specialization.tools.nodes import apart, lowest
from relulab.subjects.specialization.tools.teacher import teacher as random_teacher

RESOLVED = 1e-6  # largest rounding error of a gradient that counts as zero, as a share of the teacher's part of it


def student_specialization(
    teacher: nn.Module, student: nn.Module, region: Box | Float[Tensor, "N d"], *, oriented: bool = False
) -> Finding:
    """Check the theorem on a box, exactly up to rounding. On finitely many points it is not applicable.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        region: A box, or points, (N, d). The theorem does not apply to finitely many points.
        oriented: True requires the student to be active on the same side as the teacher node, which does not follow.
            This is the negative control.

    >>> student_specialization(*exact_pair(), Box.around(3)).verdict.name
    'HOLDS'
    """
    if not isinstance(region, Box):
        return Finding(finite(teacher, student, region), ())
    pair = creases(teacher, student, region)
    observed = _observed(pair)
    epsilon = alignment(lowest(pair.teacher), lowest(pair.student), either_side=not oriented).amin(1)
    count = int(observed.sum())
    says, detail = (
        "A student with α_kj ≠ 0 observes at least one teacher node",
        f"{count:,} of {len(observed):,} teacher nodes are observed",
    )
    condition = Check(says, count, ">=", 1, detail=detail)
    side = " that is active on the same side" if oriented else ""
    says = f"Every observed teacher node shares its hyperplane with a student{side}"
    worst = float(epsilon[observed].max()) if observed.any() else math.nan
    detail = "unknown, because no teacher node is observed"
    if observed.any():
        nearest = f"the largest alignment error between such a node and its nearest student{side}"
        detail = f"{nearest} is {number(worst)}; up to {number(pair.same)} is rounding"
    return Finding((*zero_gradient(pair), condition), (Check(says, worst, "==", 0.0, pair.same, detail=detail),))


def zero_gradient(pair: Creases) -> tuple[Check, ...]:
    """Assumptions 1 and 2 of SS on a box."""
    star = lowest(pair.teacher)
    distance = alignment(star, star, either_side=True).fill_diagonal_(torch.inf).min()
    low, high = pair.box.reach(star)
    visible = int(((low < 0) & (high > 0)).sum())
    detail = f"{visible:,} of {len(star.w):,} do"
    return (
        Check("No two teacher nodes share a hyperplane", float(distance), ">=", 2 * pair.same,
              detail=apart(float(distance), 2 * pair.same)),
        Check("The boundaries of all teacher nodes meet the box", visible, "==", len(star.w), detail=detail),
        _zero(pair),
    )  # fmt: skip


@torch.no_grad()
def _zero(pair: Creases) -> Check:
    """Check g_1 = 0. It is undecided if rounding is not far below the teacher's part z_k v_kᵀf* of the gradient."""
    bound, allowance = largest_gradient(pair)
    tiny = torch.finfo(bound.dtype).tiny
    resolution = RESOLVED * (pair.v.abs() @ absolute(pair.teacher)(pair.box.farthest[None])[0, 0])
    zero = bool((bound <= allowance).all())
    k = (allowance / resolution.clamp(min=tiny) if zero else bound / allowance.clamp(min=tiny)).argmax()
    largest, rounding, limit = (float(values[k]) for values in (bound, allowance, resolution))
    detail = f"|g_1| is at most {number(largest)}; up to {number(rounding)} is rounding"
    if zero and rounding > limit:
        detail += f", which is too much: the teacher's part of g_1 is about {number(limit / RESOLVED)}"
    says = "The gradient g_1 is zero on the box"
    return Check(says, largest, "==", 0.0, rounding, limit if zero else math.inf, detail=detail)


def finite(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> tuple[Check, ...]:
    """The condition that fails on a finite set of points, and the gradient at these points.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), at least one.
    """
    x = points(x).double()
    g_1, allowance = gradient_at(teacher, student, x)
    if not g_1.numel():
        raise UserError(f"points have shape {tuple(x.shape)}: expected at least one point")
    says = "The region is open, so it contains infinitely many points"
    detail = f"{len(x):,} points were given; set `box=true` to use the box that they span"
    largest, rounding = float(g_1.abs().max()), float(allowance.max())
    return (
        Check(says, 0, ">=", 1, detail=detail),
        Check("The gradient g_1 is zero at these points", largest, "==", 0.0, rounding,
              detail=f"the largest |g_1| is {number(largest)}; up to {number(rounding)} is rounding"),
    )  # fmt: skip


def _observed(pair: Creases) -> Bool[Tensor, " m"]:
    """Teacher nodes that some student k observes with an α_kj large enough to exceed rounding in g_k."""
    if not len(pair.bend):
        return torch.zeros(len(pair.of_star), dtype=torch.bool)
    star = lowest(pair.teacher)
    reach = pair.box.reach(star).abs().amax(0) / star.w.norm(dim=1).clamp(min=1e-300)
    bend = (1 - pair.teacher.slope) * (pair.v @ pair.v_star.T).abs()
    measurable = bend * reach > 2 * largest_gradient(pair)[1][:, None]
    return (seen(pair)[pair.of_star.clamp(min=0)].T & measurable).any(0) & (pair.of_star >= 0)


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, box: bool = False) -> Finding:
    """Check the theorem on networks and points from files.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d).
        box: True checks the theorem on the box spanned by the points. It does not apply to the points alone.
    """
    return student_specialization(teacher, student, Box.of(points(x).double()) if box else x)


def exact_pair(flipped: bool = False, spare: bool = True, slope: float = 0.0) -> tuple[MLP, MLP]:
    """A teacher with 4 nodes in R³ and a student with the same outputs. Each teacher node is split over two students.

    Args:
        flipped: Whether teacher node 0 is represented by students that are active on the other side of its
            hyperplane, and by two students that are active on the whole cube.
        spare: Whether to add four students on two other hyperplanes that cancel in pairs.
        slope: Slope c of the leaky ReLUs of both networks.
    """
    star = random_teacher((3, 4, 5), seeds=[0], bias=-0.125, slope=slope)
    w, b = lowest(star)
    v = star.W[1].data[0]
    rows = [(2 * w[j], 2 * b[j], v[j] / 8) for j in range(4)] + [(w[j], b[j], 3 * v[j] / 4) for j in range(4)]
    if flipped:  # σ(z) = σ(−z) + (1 + c) z, and z = ½ σ(z + 4) − ½ σ(4 − z) on a cube where |z| < 4
        rows[0], rows[4] = (-w[0], -b[0], v[0] / 2), (-w[0], -b[0], v[0] / 2)
        linear = (1 + slope) * v[0] / 2
        rows += [(w[0], b[0] + 4, linear), (-w[0], -b[0] + 4, -linear)]
    if spare:
        rng = stream(0, Role.DEMONSTRATION, 3)
        for u, c, a in zip(*(torch.from_numpy(rng.standard_normal(s)) for s in ((2, 3), 2, (2, 5))), strict=True):
            rows += [(u, c / 4, a), (2 * u, c / 2, -a / 2)]
    net = MLP((3, len(rows), 5), slope=slope, dtype=torch.float64)
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
    statement="Let g_1 = 0 on an open region that meets the boundaries of all teacher nodes, no two of which share a "
    "hyperplane. If a student k observes a teacher node j there and α_kj ≠ 0, then j shares its hyperplane with some "
    "student.",
    symbols={
        **GRADIENT,
        **PAIR,
    },
    in_print="The text claims more: that the student is also active on the same side as the teacher node. Only the "
    "hyperplane is determined. A ReLU and its mirror image differ by a linear function, so a student may be active on "
    "the other side if other students add this linear function. The negative control is the claim including the side. "
    "For leaky ReLUs the theorem is stronger than printed: all students observe all boundaries that meet the region, "
    "because no gate is zero.",
    source="SS theorem 1, section C.4; S0 theorem 2",
    ids=("S0.T2",),
    check=student_specialization,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "Each teacher node split over two students, four others cancel",
            Verdict.HOLDS,
            lambda: student_specialization(*exact_pair(), Box.around(3)),
        ),
        Demonstration(
            "A teacher node represented by students on its other side",
            Verdict.HOLDS,
            lambda: student_specialization(*exact_pair(flipped=True), Box.around(3)),
        ),
        Demonstration(
            "The same with leaky ReLUs of slope 0.1",
            Verdict.HOLDS,
            lambda: student_specialization(*exact_pair(flipped=True, slope=0.1), Box.around(3)),
        ),
        Demonstration(
            "One weight off by 10⁻⁶, so that the gradient is not zero", Verdict.NOT_APPLICABLE, _stopped_early
        ),
        Demonstration("The first pair on 1,000 points instead of a box", Verdict.NOT_APPLICABLE, _finite),
        Demonstration(
            "Negative control: a student active on the same side is required",
            Verdict.REFUTED,
            lambda: student_specialization(*exact_pair(flipped=True), Box.around(3), oriented=True),
        ),
    ),
)
