r"""SS.T2 with C1, un-specialized students can be pruned (SS theorem 2, corollary 1, sections C.5, C.6; S0 theorem 3).

Let the conditions of SS.T1 hold: zero gradient on an open region. If a hyperplane that carries students but no teacher
node is observed by students whose fan-out vectors v span R^C, then Σ v_k ‖w_k‖ = 0 over the students on it. When that
goes for all such hyperplanes, un-specialized students together add nothing to the output (corollary 1).

Students on both sides of one hyperplane count together, since only the bend is determined: σ(z) − σ(−z) = z bends
nowhere. So the sum over one side alone need not vanish (the negative control), and the corollary needs the students of
each such hyperplane to look to one side.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.theorems.student_specialization import exact_pair, finite, zero_gradient
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import Creases, creases, largest_gradient, seen
from relulab.subjects.specialization.tools.nodes import lowest


def prunable_students(
    teacher: nn.Module, student: nn.Module, region: Box | Float[Tensor, "N d"], *, one_side: bool = False
) -> Finding:
    """Checks the theorem on a box, exactly, or says why it does not speak of a finite set of points.

    Args:
        teacher: One two-layer ReLU network.
        student: Another with the same inputs and outputs.
        region: A box, or points, (N, d), of which the theorem does not speak.
        one_side: A false variant of the statement, for the negative control: the students of one side of a hyperplane
            by themselves.

    >>> prunable_students(*exact_pair(), Box.around(3)).verdict.name
    'HOLDS'
    """
    if not isinstance(region, Box):
        return Finding(finite(teacher, student, region), ())
    found = creases(teacher, student, region)
    spare, (observed, known) = unspecialized(found), _observed(found)
    meant = spare & observed
    says = "hyperplanes of students only that C students with independent v_k observe, at least one"
    conditions = (*zero_gradient(found), Check(says, int(meant.sum()), ">=", 1))
    mine = lowest(found.student)
    a = found.v * mine.w.norm(dim=1, keepdim=True)
    of = torch.where(found.of >= 0, found.of, len(spare))
    if one_side:
        a = a * (found.side > 0)[:, None]
    sums = a.new_zeros(len(spare) + 1, a.shape[1]).index_add_(0, of, a)[:-1].norm(dim=1)
    s = int((sums / known)[meant].argmax()) if meant.any() else None
    largest, error = (math.nan, 0.0) if s is None else (float(sums[meant][s]), float(known[meant][s]))
    conclusion = [Check("‖Σ v_k‖w_k‖‖ on the worst of these hyperplanes", largest, "==", 0.0, error)]
    idle = bool((found.v[found.of < 0] * mine.b[found.of < 0, None].clamp(min=0) == 0).all())  # no constants either
    if meant.any() and bool((observed | ~spare).all()) and not (found.opposite & spare).any() and idle:
        reach = found.box.reach(found.planes).abs().amax(0)[spare]
        says = "bound on what un-specialized students together add to an output on the box (corollary 1)"
        conclusion.append(Check(says, float(reach @ sums[spare]), "==", 0.0, float(reach @ known[spare])))
    return Finding(conditions, tuple(conclusion))


def unspecialized(found: Creases) -> Bool[Tensor, " s"]:
    """Creases on which there is no teacher node."""
    spare = torch.ones(len(found.bend), dtype=torch.bool)
    spare[found.of_star[found.of_star >= 0]] = False
    return spare


def _observed(found: Creases) -> tuple[Bool[Tensor, " s"], Float[Tensor, " s"]]:
    """Creases that students whose fan-out vectors span R^C observe, and how well their bends are then known.

    Zero gradient within its allowance leaves |v_kᵀ bend| ≤ allowance_k / reach for every observer k, so ‖bend‖ is at
    most the norm of these over the least singular value of the matrix of the v_k.
    """
    allowance = largest_gradient(found)[1].clamp(min=torch.finfo(torch.float64).tiny)
    reach = found.box.reach(found.planes).abs().amax(0)
    # each row in units of what is allowed: then the least singular value says it all
    V = seen(found).unsqueeze(2) * (found.v / allowance[:, None])
    singular = torch.linalg.svdvals(V) if V.numel() else V.new_zeros(len(V), 0)
    C, n = found.v.shape[1], found.v.shape[0]
    if n < C or not V.numel():
        return torch.zeros(len(V), dtype=torch.bool), torch.full((len(V),), torch.inf, dtype=torch.float64)
    spans = singular[:, C - 1] > max(V.shape[1:]) * torch.finfo(torch.float64).eps * singular[:, 0]
    return spans, math.sqrt(n) / (singular[:, C - 1].clamp(min=1e-300) * reach)


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, box: bool = False) -> Finding:
    """On the points, which are finitely many, or with ``box`` on the whole box that they span."""
    return prunable_students(teacher, student, Box.of(points(x).double()) if box else x)


def _opposite() -> tuple[MLP, MLP]:
    """The exact pair with two more students σ(z), σ(−z) whose bends cancel, and two that take their linear z away."""
    star, net = exact_pair()
    z, level, v = torch.tensor([0.5, -1.0, 0.25]).double(), 0.25, torch.tensor([1.0, -0.5, 0.25, 0.0, 2.0]).double()
    rows = [(z, level, v), (-z, -level, -v), (z, level + 4, -v / 2), (-z, 4 - level, v / 2)]
    more = MLP((3, net.widths[1] + len(rows), 5), dtype=torch.float64)
    W, b, V = zip(*rows, strict=True)
    more.W[0].data[0] = torch.cat([net.W[0].data[0], torch.stack(W, 1)], 1)
    more.b[0].data[0, 0] = torch.cat([net.b[0].data[0, 0], torch.tensor(b).double()])
    more.W[1].data[0], more.b[1].data[0] = torch.cat([net.W[1].data[0], torch.stack(V)]), net.b[1].data[0]
    return star, more


THEOREM = Theorem(
    id="SS.T2",
    title="Un-specialized students can be pruned",
    statement="At zero gradient on an open region, Σ v_k‖w_k‖ = 0 over the students of every hyperplane that no "
    "teacher node has and that C students with independent fan-out observe: such students can go.",
    source="SS theorem 2 and corollary 1, sections C.5 and C.6; S0 theorem 3",
    ids=("SS.C1", "S0.T3"),
    check=prunable_students,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "four students on two hyperplanes of their own, which cancel",
            Verdict.HOLDS,
            lambda: prunable_students(*exact_pair(), Box.around(3)),
        ),
        Demonstration(
            "also students on both sides of a hyperplane, linear together",
            Verdict.HOLDS,
            lambda: prunable_students(*_opposite(), Box.around(3)),
        ),
        Demonstration(
            "no un-specialized students",
            Verdict.NOT_APPLICABLE,
            lambda: prunable_students(*exact_pair(spare=False), Box.around(3)),
        ),
        Demonstration(
            "negative control: students on one side of the hyperplane alone",
            Verdict.REFUTED,
            lambda: prunable_students(*_opposite(), Box.around(3), one_side=True),
        ),
    ),
)
