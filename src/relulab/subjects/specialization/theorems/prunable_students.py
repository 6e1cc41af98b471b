r"""SS.T2, unspecialized students can be pruned (SS theorem 2, section C.5; S0 theorem 3).

Let the conditions of SS.T1 hold, that is, zero gradient on an open region. Consider a hyperplane that carries students
but no teacher node. If it is observed by students whose output weights v_k span R^C, then Σ v_k ‖w_k‖ = 0 over the
students on it.

The sum runs over students on both sides of the hyperplane because zero gradient determines only the bend: σ(z) − σ(−z)
= (1 + c) z has none, where c is the leaky slope (0 for plain ReLUs). So the sum over one side alone need not vanish,
which is the negative control. For the same reason corollary 1, that unspecialized students together add nothing to the
output, is false: see SS.C1.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.terms import GRADIENT
from relulab.subjects.specialization.theorems.student_specialization import exact_pair, finite, zero_gradient
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import Creases, creases, largest_gradient, seen
from relulab.subjects.specialization.tools.nodes import lowest


def prunable_students(
    teacher: nn.Module, student: nn.Module, region: Box | Float[Tensor, "N d"], *, one_side: bool = False
) -> Finding:
    """Check the theorem on a box, exactly up to rounding. On finitely many points it is not applicable.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        region: A box, or points, (N, d). The theorem does not apply to finitely many points.
        one_side: True sums over the students on one side of a hyperplane only, which is wrong. This is the negative
            control.

    >>> prunable_students(*exact_pair(), Box.around(3)).verdict.name
    'HOLDS'
    """
    if not isinstance(region, Box):
        return Finding(finite(teacher, student, region), ())
    pair = creases(teacher, student, region)
    spare, (observed, resolution) = unspecialized(pair), bends_known(pair)
    tested = spare & observed
    conditions = (*zero_gradient(pair), _enough(int(tested.sum()), int(spare.sum())))
    nodes = lowest(pair.student)
    a = pair.v * nodes.w.norm(dim=1, keepdim=True)
    of = torch.where(pair.of >= 0, pair.of, len(spare))
    if one_side:
        a = a * (pair.side > 0)[:, None]
    sums = a.new_zeros(len(spare) + 1, a.shape[1]).index_add_(0, of, a)[:-1].norm(dim=1)
    s = int((sums / resolution)[tested].argmax()) if tested.any() else None
    largest, error = (math.nan, 0.0) if s is None else (float(sums[tested][s]), float(resolution[tested][s]))
    which = " over the students on one side" if one_side else ""
    says = f"Σ v_k‖w_k‖ = 0{which} on each of these hyperplanes"
    detail = f"the largest norm of such a sum is {number(largest)}; up to {number(error)} is rounding"
    if s is None:
        detail = "unknown, because there is no such hyperplane"
    return Finding(conditions, (Check(says, largest, "==", 0.0, error, detail=detail),))


def _enough(tested: int, spare: int) -> Check:
    says = "At least one hyperplane without teacher nodes is observed by C students with independent v_k"
    return Check(says, tested, ">=", 1, detail=f"{tested:,} of {spare:,} hyperplanes without teacher nodes are")


def unspecialized(pair: Creases) -> Bool[Tensor, " s"]:
    """Whether a crease carries no teacher node, for each crease."""
    spare = torch.ones(len(pair.bend), dtype=torch.bool)
    spare[pair.of_star[pair.of_star >= 0]] = False
    return spare


def bends_known(pair: Creases) -> tuple[Bool[Tensor, " s"], Float[Tensor, " s"]]:
    """Creases observed by students whose output weights span R^C, and the error to which Σ v_k‖w_k‖ is known on them.

    A gradient of zero up to its allowance implies |v_kᵀ bend| ≤ allowance_k / reach for every observer k. So ‖bend‖ is
    at most the norm of these bounds divided by the smallest singular value of the matrix of the v_k. The bend is
    (1 − slope) Σ v_k‖w_k‖.
    """
    allowance = largest_gradient(pair)[1].clamp(min=torch.finfo(torch.float64).tiny)
    reach = pair.box.reach(pair.planes).abs().amax(0)
    # with each row divided by its allowance, the smallest singular value alone gives the error
    V = seen(pair).unsqueeze(2) * (pair.v / allowance[:, None])
    singular = torch.linalg.svdvals(V) if V.numel() else V.new_zeros(len(V), 0)
    C, n = pair.v.shape[1], pair.v.shape[0]
    if n < C or not V.numel():
        return torch.zeros(len(V), dtype=torch.bool), torch.full((len(V),), torch.inf, dtype=torch.float64)
    spans = singular[:, C - 1] > max(V.shape[1:]) * torch.finfo(torch.float64).eps * singular[:, 0]
    return spans, math.sqrt(n) / (singular[:, C - 1].clamp(min=1e-300) * reach * (1 - pair.student.slope))


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, box: bool = False) -> Finding:
    """Check the theorem on networks and points from files.

    Args:
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d).
        box: True checks the theorem on the box spanned by the points. It does not apply to the points alone.
    """
    return prunable_students(teacher, student, Box.of(points(x).double()) if box else x)


def _opposite(slope: float = 0.0) -> tuple[MLP, MLP]:
    """The exact pair with two more students σ(z), σ(−z) whose bends cancel, and two that cancel their linear part."""
    star, net = exact_pair(slope=slope)
    z, level, v = torch.tensor([0.5, -1.0, 0.25]).double(), 0.25, torch.tensor([1.0, -0.5, 0.25, 0.0, 2.0]).double()
    linear = (1 + slope) * v / 2
    rows = [(z, level, v), (-z, -level, -v), (z, level + 4, -linear), (-z, 4 - level, linear)]
    wider = MLP((3, net.widths[1] + len(rows), 5), slope=slope, dtype=torch.float64)
    W, b, V = zip(*rows, strict=True)
    wider.W[0].data[0] = torch.cat([net.W[0].data[0], torch.stack(W, 1)], 1)
    wider.b[0].data[0, 0] = torch.cat([net.b[0].data[0, 0], torch.tensor(b).double()])
    wider.W[1].data[0], wider.b[1].data[0] = torch.cat([net.W[1].data[0], torch.stack(V)]), net.b[1].data[0]
    return star, wider


def counterexample(shift: float = 0.25, slope: float = 0.0) -> tuple[MLP, MLP]:
    """A teacher and an exact student in which unspecialized students carry a part of the output.

    Teacher node 0 with σ(z) is represented by σ(−z). The missing (1 + slope) z comes from σ(z + c) − σ(−z − c) =
    (1 + slope) (z + c) on a hyperplane of their own, and the output bias removes the constant.

    Args:
        shift: The distance c of this hyperplane from that of the teacher node.
        slope: Slope of the leaky ReLUs of both networks.
    """
    star, net = exact_pair(slope=slope)
    (w, b), v = lowest(star), star.W[1].data[0, 0]
    rows = [(-w[0], -b[0], v), (w[0], b[0] + shift, v), (-w[0], -b[0] - shift, -v)]
    W, B, V = (torch.stack(part) for part in zip(*rows, strict=True))
    kept = [k for k in range(net.widths[1]) if k not in (0, 4)]  # these two represent teacher node 0
    wider = MLP((3, len(kept) + len(rows), 5), slope=slope, dtype=torch.float64)
    wider.W[0].data[0] = torch.cat([net.W[0].data[0, :, kept], W.T], 1)
    wider.b[0].data[0, 0] = torch.cat([net.b[0].data[0, 0, kept], B])
    wider.W[1].data[0] = torch.cat([net.W[1].data[0, kept], V])
    wider.b[1].data[0, 0] = net.b[1].data[0, 0] - (1 + slope) * shift * v
    return star, wider


THEOREM = Theorem(
    id="SS.T2",
    title="Unspecialized students can be pruned",
    statement="Let the gradient g_1 be zero on an open region that meets the boundaries of all teacher nodes, no two "
    "of which share a hyperplane. Consider a hyperplane that carries students but no teacher node. If C students with "
    "linearly independent v_k observe it, then Σ v_k‖w_k‖ = 0 over all students k on it, so they can be pruned.",
    symbols={
        **GRADIENT,
        "C": "number of outputs",
        "k": "a student node",
        "v_k": "output weights of student k, a vector in R^C",
        "w_k": "input weights of student k",
    },
    in_print="The sum must run over students on both sides of the hyperplane: a ReLU and its mirror image differ by a "
    "linear function, which has no bend. Here both sides are summed. Such students may add a linear function, so they "
    "can only be pruned together with a correction, and corollary 1 is false (SS.C1).",
    source="SS theorem 2, section C.5; S0 theorem 3",
    ids=("S0.T3",),
    check=prunable_students,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration(
            "Four students that cancel on two hyperplanes",
            Verdict.HOLDS,
            lambda: prunable_students(*exact_pair(), Box.around(3)),
        ),
        Demonstration(
            "The same, and students on both sides of a hyperplane",
            Verdict.HOLDS,
            lambda: prunable_students(*_opposite(), Box.around(3)),
        ),
        Demonstration(
            "Two unspecialized students that carry a part of the output (SS.C1)",
            Verdict.HOLDS,
            lambda: prunable_students(*counterexample(), Box.around(3)),
        ),
        Demonstration(
            "Leaky ReLUs of slope 0.1 on both sides of a hyperplane",
            Verdict.HOLDS,
            lambda: prunable_students(*_opposite(slope=0.1), Box.around(3)),
        ),
        Demonstration(
            "No unspecialized students",
            Verdict.NOT_APPLICABLE,
            lambda: prunable_students(*exact_pair(spare=False), Box.around(3)),
        ),
        Demonstration(
            "Negative control: students on one side of the hyperplane only",
            Verdict.REFUTED,
            lambda: prunable_students(*_opposite(), Box.around(3), one_side=True),
        ),
    ),
)
