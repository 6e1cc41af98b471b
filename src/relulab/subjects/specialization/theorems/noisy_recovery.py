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
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.terms import GRADIENT, LARGEST, PAIR
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import Creases, creases, largest_gradient, seen
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regular
from relulab.subjects.specialization.tools.shifted_students import shifted_students
from relulab.subjects.specialization.tools.vertices import exact_gradient


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
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        box: The region R.
        node: Index of the teacher node, from 0. None takes the strongest node.
        squared: True multiplies both bounds by the bound on sin θ̃, which makes them second order in ε/|α_kj| and
            wrong. This is the negative control.

    >>> teacher, student, _ = shifted_students(1e-3, 1)
    >>> noisy_recovery(teacher, student, Box.around(2)).verdict.name
    'HOLDS'
    """
    pair = creases(teacher, student, box)
    star = regular(lowest(pair.teacher))
    j = int(pair.v_star.norm(dim=1).argmax()) if node is None else node
    if not 0 <= j < len(star.w):
        raise UserError(f"teacher node {j} does not exist: choose a node from 0 to {len(star.w) - 1}")
    if star.w.shape[1] < 2:
        raise UserError(f"expected networks with at least 2 inputs, got {star.w.shape[1]}")
    epsilon, exact = gradient_on(pair)
    bounds = promised(pair, j, epsilon)
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
        teacher: One two-layer (leaky) ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d).
        node: Index of the teacher node, from 0. None takes the strongest node.
    """
    return noisy_recovery(teacher, student, Box.of(x), node=node)


def _case(shift: float, slope: float = 0.0, **options) -> Finding:
    teacher, student, _ = shifted_students(shift, 1, slope=slope)
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
    "|α_kj|, where c* is the slope of the teacher.",
    source="S0 theorem 5, lemmas 5 and 6, sections 8.7, 8.8 and 8.13",
    check=noisy_recovery,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration("Two nodes in the plane, student biases off by 10⁻³", Verdict.HOLDS, lambda: _case(1e-3)),
        Demonstration("The same with leaky ReLUs of slope 0.1", Verdict.HOLDS, lambda: _case(1e-3, slope=0.1)),
        Demonstration(
            "Student biases off by 0.1, so that the bounds are trivial", Verdict.NOT_APPLICABLE, lambda: _case(0.1)
        ),
        Demonstration(
            "Negative control: bounds of second order in ε/|α_kj|", Verdict.REFUTED, lambda: _case(1e-6, squared=True)
        ),
    ),
)
