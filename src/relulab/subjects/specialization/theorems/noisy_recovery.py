r"""S0.T5, noisy recovery: a small gradient implies a small misalignment (S0 theorem 5, lemmas 5 and 6).

Let ‖g_1(x)‖∞ ≤ ε at every x of a region R, and let student k observe teacher node j with α_kj ≠ 0. The paper states
that some student has sin θ̃ = O(ε^{1−δ}/|α_kj|) and a bias gap O(ε^{1−2δ}/|α_kj|) for any δ > 0. The proof gives more.
Take a ball of radius r in the boundary of j that is at least q = 5ε/|α_kj| away from the border of R and from the
boundary of k. Then

    sin θ̃ ≤ M K ε/|α_kj|,   |b*_j − b| ≤ (2 M₀ M K + 5) ε/|α_kj|,   M = 10 V_{d−2}(r)/V_{d−1}(r),   M₀ = max ‖x‖,

for at least one other of the K nodes, so δ = 0 works and no constant is hidden. V_n(r) is the volume of a ball in R^n.
If the teacher has leaky ReLUs of slope c*, its bends are smaller and |α_kj| is replaced by (1 − c*)|α_kj|. If the
student has leaky ReLUs of slope c, the ball may also lie where k is not active. There, ε is replaced by ε/c. That node
is a student if no other teacher node is as close. On a box, r is the solution of a linear program. ε is exact up to
rounding if the vertices of the creases can be listed, and an upper bound otherwise. Biases are measured from the center
of the box in units of its size. The negative control replaces the bounds by second-order ones.

The networks may have more layers. Then the theorem is about their lowest layers, and R is a region in which the upper
layers keep their gates, so that α_kj is constant. Such regions need not be convex. Here R is a box in one of them,
found by shrinking the given box toward points of the boundary of j. On it, both networks are two-layer networks with
the output weights V*_1 and V_1, and everything above applies to these.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linprog
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.mlp import MLP, as_mlp
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.instruments.top_down import top_down_layers
from relulab.subjects.specialization.terms import GRADIENT, LARGEST, PAIR
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import Creases, creases, largest_gradient, seen
from relulab.subjects.specialization.tools.deep_pairs import deep_shifted_students
from relulab.subjects.specialization.tools.groups import one_network
from relulab.subjects.specialization.tools.lowest_gradient import composition_rounding
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regular
from relulab.subjects.specialization.tools.one_region import on_boundary, steady_boxes, two_layers_at
from relulab.subjects.specialization.tools.shifted_students import shifted_students
from relulab.subjects.specialization.tools.vertices import exact_gradient

TRIED = 4  # boxes on which the upper layers keep their gates, the best first


class Bounds(NamedTuple):
    """Bounds of the theorem on sin θ̃ and on the bias gap for a teacher node observed by student k."""

    k: int
    radius: float
    sine: float
    bias: float


def noisy_recovery(
    teacher: nn.Module, student: nn.Module, box: Box, *, node: int | None = None, squared: bool = False
) -> Finding:
    """Check the theorem for one teacher node, with the observer k that gives the smallest bounds.

    Args:
        teacher: One (leaky) ReLU network of any depth. The theorem is about its lowest layer.
        student: Another one with the same inputs and outputs.
        box: The region R. For more than two layers, R is a box in it on which the upper layers keep their gates.
        node: Index of the teacher node, from 0. None takes the strongest node.
        squared: True multiplies both bounds by the bound on sin θ̃, which makes them second order in ε/|α_kj| and
            wrong. This is the negative control.

    >>> teacher, student, _ = shifted_students(1e-3, 1)
    >>> noisy_recovery(teacher, student, Box.around(2)).verdict.name
    'HOLDS'
    """
    nets = as_mlp(teacher), as_mlp(student)
    if max(net.depth for net in nets) > 2:
        return _in_one_region(one_network(nets[0]), one_network(nets[1]), box, node, squared)
    pair = creases(teacher, student, box)
    j = _existing(int(pair.v_star.norm(dim=1).argmax()) if node is None else node, pair.teacher)
    return _finding(pair, j, *_bounds(pair, j), squared)


def _existing(j: int, teacher: MLP) -> int:
    """Return the index of a teacher node, or raise an error if there is no such node, or only one input."""
    d, m = teacher.widths[:2]
    if not 0 <= j < m:
        raise UserError(f"teacher node {j} does not exist: choose a node from 0 to {m - 1}")
    if d < 2:
        raise UserError(f"expected networks with at least 2 inputs, got {d}")
    return j


def _in_one_region(teacher: MLP, student: MLP, box: Box, node: int | None, squared: bool) -> Finding:
    """Check the theorem on the box that gives the smallest bounds, of those on which the upper layers do not change."""
    if (teacher.widths[0], teacher.widths[-1]) != (student.widths[0], student.widths[-1]):
        raise UserError(
            f"the teacher has widths {teacher.widths} and the student {student.widths}: inputs and outputs must agree"
        )
    box = box.fits(teacher.widths[0])
    j = _existing(_strongest(teacher, box) if node is None else node, teacher)
    points_of_j, shares, boxes = steady_boxes(teacher, student, box, j)
    says = f"The boundary of node {j} meets a box on which the upper layers of both networks keep their gates"
    detail = "none was found"
    if boxes:
        detail = (
            f"{len(boxes):,} were found; the best one is {number(float(shares[0]))} times as large as the given one"
        )
    found = Check(says, len(boxes), ">=", 1, detail=detail)
    best = None
    for x, region in list(zip(points_of_j, boxes, strict=True))[:TRIED]:
        pair = creases(two_layers_at(teacher, x), two_layers_at(student, x), region)
        bounded = _bounds(pair, j, composition_rounding(teacher, student, region.farthest))
        if best is None or bounded[0].sine < best[1][0].sine:
            best = pair, bounded
    if best is None:
        return Finding((found,), ())
    finding = _finding(best[0], j, *best[1], squared)
    return Finding((found, *finding.conditions), finding.conclusion)


def _strongest(teacher: MLP, box: Box) -> int:
    """The teacher node of the lowest layer with the largest ‖v*_j‖ at a point of its boundary in the box."""
    norms = lowest(teacher).w.norm(dim=1)
    strengths = torch.zeros(len(norms), dtype=norms.dtype)
    for j in range(len(norms)):
        x = on_boundary(teacher, box, j)
        if len(x):
            V = top_down_layers(teacher, x)[0].V[0, :, :, j]
            strengths[j] = norms[j] * V.norm(dim=1).max()
    return int(strengths.argmax())


def _bounds(pair: Creases, j: int, rounding: float = 0.0) -> tuple[Bounds, float, bool]:
    """The bounds for teacher node j, the largest gradient ε that they are made from, and whether ε is exact."""
    epsilon, exact = gradient_on(pair)
    epsilon += rounding
    return promised(pair, j, epsilon), epsilon, exact


def _finding(pair: Creases, j: int, bounds: Bounds, epsilon: float, exact: bool, squared: bool) -> Finding:
    star = regular(lowest(pair.teacher))
    size = f"ε = {epsilon:.2g}" + ("" if exact else " (an upper bound)")
    slopes = pair.teacher.slope, pair.student.slope
    side = "one side" if slopes[1] else "the active side"
    distance = "5ε/((1 − c*)|α_kj|)" if slopes[0] else "5ε/|α_kj|"
    says = f"The boundary of node {j} contains a ball that is {distance} inside the box and {side} of a student"
    radius = Check(says, bounds.radius, ">=", 1e-12, detail=f"its radius is {bounds.radius:.3g} for {size}")
    if not radius.holds:
        return Finding((radius,), ())
    others = Nodes(*(torch.cat([t[:j], t[j + 1 :]]) for t in star))
    apart = _excess(star, j, others, bounds, 1.0)
    conditions = (
        radius,
        Check("The bound on sin θ̃ is at most 1, so that it is not trivial", bounds.sine, "<=", 1.0,
              detail=f"the bound is {number(bounds.sine)}"),
        Check("No other teacher node is within the bounds", apart, ">=", 1.0,
              detail=f"the nearest one is at {number(apart)} times the bounds, must be at 1 or more"),
    )  # fmt: skip
    factor = min(bounds.sine, 1.0) if squared else 1.0
    nearest = _excess(star, j, regular(lowest(pair.student)), bounds, factor)
    says = "The nearest student is within the bounds on sin θ̃ and on |b*_j − b|"
    detail = f"it is at {number(nearest)} times the bounds, must be at 1 or less"
    error = pair.same / (bounds.sine * factor) if math.isfinite(bounds.sine) else 0.0
    return Finding(conditions, (Check(says, nearest, "<=", 1.0, error, detail=detail),))


def gradient_on(pair: Creases) -> tuple[float, bool]:
    """‖g_1‖∞ over the box including rounding, and whether it is exact (otherwise it is an upper bound)."""
    (bound, allowance), exact = largest_gradient(pair), exact_gradient(pair)
    return float(((bound if exact is None else exact) + allowance).max()), exact is not None


def promised(pair: Creases, j: int, epsilon: float) -> Bounds:
    """The bounds for teacher node j from the student that gives the smallest ones, in units of the box.

    Args:
        pair: The creases of teacher and student.
        j: Index of the teacher node, from 0.
        epsilon: ε, the largest gradient on the box.
    """
    box, d, K = pair.box, len(pair.box.low), len(pair.of_star) + len(pair.of)
    M_0 = float(box.farthest.norm())
    alpha = (1 - pair.teacher.slope) * (pair.v @ pair.v_star[j]).abs()
    star, nodes = regular(lowest(pair.teacher)), regular(lowest(pair.student))
    sides = [(1.0, nodes)]  # gates of the students, and nodes that are active where the gates have this value
    if pair.student.slope:
        sides.append((pair.student.slope, Nodes(-nodes.w, -nodes.b)))
    best = Bounds(-1, 0.0, math.inf, math.inf)
    observes = seen(pair)[pair.of_star[j]] if pair.of_star[j] >= 0 else torch.zeros(len(alpha), dtype=torch.bool)
    for k in (observes & (alpha > 0)).nonzero()[:, 0].tolist():
        for gate, side in sides:
            ratio = epsilon / (gate * float(alpha[k]))
            r = _ball(star, j, side, k, box, 5 * ratio)
            if r > 0:
                M = 10 * _volume(d - 2, r) / _volume(d - 1, r)
                bounds = Bounds(k, r, M * K * ratio, (2 * M_0 * M * K + 5) * ratio)
                best = min(best, bounds, key=lambda b: b.sine)
    return best


def _volume(n: int, r: float) -> float:
    return math.pi ** (n / 2) * r**n / math.gamma(n / 2 + 1)


def _ball(star: Nodes, j: int, nodes: Nodes, k: int, box: Box, q: float) -> float:
    """The largest radius of a ball in the boundary of node j that stays q inside the box and the active side of k.

    Nodes are regular and the box has size one, so that the tolerances of the solver are meaningful. The radius is
    recomputed from the center that the solver returns.
    """
    w, b = star.w[j].numpy(), float(star.b[j])
    Q = np.linalg.svd(w[None])[2][1:].T  # directions within the boundary
    normals = np.vstack([np.eye(len(w)), -np.eye(len(w)), -nodes.w[k].numpy()[None]])
    limits = np.concatenate([box.high.numpy(), -box.low.numpy(), [float(nodes.b[k])]])
    lengths, flat = np.linalg.norm(normals, axis=1), normals @ Q
    A = np.column_stack([flat, np.linalg.norm(flat, axis=1)])
    right = limits - q * lengths - normals @ (-b * w)
    cost = np.zeros(A.shape[1])
    cost[-1] = -1.0
    solved = linprog(cost, A_ub=A, b_ub=right, bounds=[(None, None)] * (len(w) - 1) + [(0, None)])
    if solved.status != 0:
        return 0.0
    room = right - flat @ solved.x[:-1]
    width = np.linalg.norm(flat, axis=1)
    if (room[width <= 1e-12] < 0).any():
        return 0.0
    return max(0.0, float((room / width.clip(1e-300))[width > 1e-12].min()))


def _excess(star: Nodes, j: int, nodes: Nodes, bounds: Bounds, factor: float) -> float:
    """The minimum over nodes of max(sin θ̃/bound, bias gap/bound). ∞ if there are no nodes."""
    if not len(nodes.b) or not math.isfinite(bounds.sine):
        return math.inf
    gaps = []
    for side in (1, -1):
        b_gap = (star.b[j] - side * nodes.b).abs()
        direction = Nodes(star.w[j : j + 1], star.b.new_zeros(1))
        sine = alignment(direction, Nodes(side * nodes.w, torch.zeros_like(nodes.b)))[0]
        gaps.append(torch.maximum(sine / (bounds.sine * factor), b_gap / (bounds.bias * factor)))
    return float(torch.stack(gaps).min())


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, node: int | None = None) -> Finding:
    """Check the theorem on networks from files, on the box spanned by the points.

    Args:
        teacher: One (leaky) ReLU network of any depth. The theorem is about its lowest layer.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d).
        node: Index of the teacher node, from 0. None takes the strongest node.
    """
    return noisy_recovery(teacher, student, Box.of(x), node=node)


def _case(shift: float, slope: float = 0.0, pair=shifted_students, **options) -> Finding:
    teacher, student, _ = pair(shift, 1, slope=slope)
    return noisy_recovery(teacher, student, Box.around(2), **options)


THEOREM = Theorem(
    id="S0.T5",
    title="Noisy recovery",
    statement="Let ‖g_1‖∞ ≤ ε on a region, and let student k observe teacher node j there with α_kj ≠ 0. Then some "
    "student has sin θ̃ ≤ M K ε/|α_kj| and |b*_j − b| ≤ (2 M₀ M K + 5) ε/|α_kj|, unless another teacher node is that "
    "close to j. So strong nodes are recovered at larger gradients.",
    symbols={
        **GRADIENT,
        **LARGEST,
        "ε": "largest gradient on the region",
        **PAIR,
        "θ̃": "angle between the input weights of j and of the student",
        "b*_j": "bias of j, for input weights of norm one",
        "b": "bias of the student, for input weights of norm one",
        "K": "number of hidden nodes of teacher and student together",
        "M": "10 V_{d−2}(r)/V_{d−1}(r)",
        "V_n(r)": "volume of a ball of radius r in R^n",
        "c*": "slope of the leaky ReLUs of the teacher, 0 for plain ones",
        "r": "radius of a ball in the boundary of j that lies 5ε/|α_kj| inside the region and the active side of k",
        "d": "number of inputs",
        "M₀": "largest norm of a point in the region",
    },
    in_print="The paper states orders only: powers of ε slightly below 1, divided by |α_kj|, with hidden constants. "
    "Its proof works with the power 1 and explicit constants, which are used here. The student may be active on the "
    "other side of the hyperplane. For leaky ReLUs, the proof gives the same bounds with (1 − c*)|α_kj| instead of "
    "|α_kj|, where c* is the slope of the teacher. In networks with more than two layers, the region must be one in "
    "which α_kj is constant. The check looks for a box in such a region.",
    source="S0 theorem 5, lemmas 5 and 6, sections 8.7, 8.8 and 8.13",
    check=noisy_recovery,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration("Two nodes in the plane, student biases off by 10⁻³", Verdict.HOLDS, lambda: _case(1e-3)),
        Demonstration("The same with leaky ReLUs of slope 0.1", Verdict.HOLDS, lambda: _case(1e-3, slope=0.1)),
        Demonstration(
            "Three layers, student biases off by 10⁻³",
            Verdict.HOLDS,
            lambda: _case(1e-3, pair=deep_shifted_students, node=0),
        ),
        Demonstration(
            "Student biases off by 0.1, so that the bounds are trivial", Verdict.NOT_APPLICABLE, lambda: _case(0.1)
        ),
        Demonstration(
            "Negative control: bounds of second order in ε/|α_kj|", Verdict.REFUTED, lambda: _case(1e-6, squared=True)
        ),
        Demonstration(
            "Negative control: the same with three layers",
            Verdict.REFUTED,
            lambda: _case(1e-6, pair=deep_shifted_students, node=0, squared=True),
        ),
    ),
)
