r"""S0.T5, noisy recovery: a small gradient leaves a small misalignment (S0 theorem 5, lemmas 5 and 6).

Let ‖g_1(x)‖∞ ≤ ε at every x of a region R, and let student k observe teacher node j with α_kj ≠ 0. The text has a
student with sin θ̃ = O((ε/|α_kj|)^{1−δ}) and a bias gap O((ε/|α_kj|)^{1−2δ}) for any δ > 0. Its proof gives more: with
a ball of radius r in the boundary of j, at a distance of at least q = 5ε/|α_kj| from the ends of R and from the
boundary of k,

    sin θ̃ ≤ M K ε/|α_kj|,   |b*_j − b| ≤ (2 M₀ M K + 5) ε/|α_kj|,   M = 10 V_{d−2}(r)/V_{d−1}(r),   M₀ = max ‖x‖,

for some other of the K nodes: δ = 0, and no hidden constants. V_n(r) is the volume of a ball in R^n. That node is a
student if no other teacher node is as close. On a box, r is a linear program and ε is exact, up to rounding, where the
vertices of the creases can be listed, else bounded. Biases are counted from the middle of the box in units of its size.
The negative control claims the squares of these bounds.
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
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import Creases, creases, largest_gradient, seen
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regular
from relulab.subjects.specialization.tools.shifted_students import shifted_students
from relulab.subjects.specialization.tools.vertices import exact_gradient


class Bounds(NamedTuple):
    """What the theorem promises of a teacher node seen by student k: sin θ̃ and bias gap at most these."""

    k: int
    radius: float
    sine: float
    bias: float


def noisy_recovery(
    teacher: nn.Module, student: nn.Module, box: Box, *, node: int | None = None, squared: bool = False
) -> Finding:
    """Checks the theorem for one teacher node, the strongest unless told, as its best observer sees it.

    Args:
        teacher: One two-layer ReLU network.
        student: Another with the same inputs and outputs.
        box: The region R.
        node: Number of the teacher node, from 0. None takes the strongest.
        squared: A false variant of the statement, for the negative control: the bounds times that on sin θ̃, second
            order in ε/|α_kj|.

    >>> teacher, student, _ = shifted_students(1e-3, 1)
    >>> noisy_recovery(teacher, student, Box.around(2)).verdict.name
    'HOLDS'
    """
    found = creases(teacher, student, box)
    star = regular(lowest(found.teacher))
    j = int(found.v_star.norm(dim=1).argmax()) if node is None else node
    if not 0 <= j < len(star.w) or star.w.shape[1] < 2:
        raise UserError(
            f"teacher node {j}: the teacher has nodes 0 … {len(star.w) - 1} in {star.w.shape[1]} dimensions, of which "
            "there must be at least 2"
        )
    epsilon, exact = gradient_on(found)
    bounds = promised(found, j, epsilon)
    others = Nodes(*(torch.cat([t[:j], t[j + 1 :]]) for t in star))
    factor = min(bounds.sine, 1.0) if squared else 1.0
    mine = _excess(star, j, regular(lowest(found.student)), bounds, factor)
    says = f"radius of a ball in the boundary of node {j} that is 5ε/|α| inside the box and a student's active side, "
    says += f"ε = {epsilon:.2g}"
    radius = Check(says, bounds.radius, ">=", 1e-12)
    if not radius.holds:
        return Finding((radius,), ())
    conditions = (
        radius,
        Check("bound on sin θ̃, below 1 so that it says something", bounds.sine, "<=", 1.0),
        Check("other teacher nodes, in units of the bounds", _excess(star, j, others, bounds, 1.0), ">=", 1.0),
    )
    how = "" if exact else ", bounded"
    says = f"sin θ̃ and bias gap of the nearest student, in units of the bounds (ε = {epsilon:.2g}{how})"
    error = found.same / (bounds.sine * factor) if math.isfinite(bounds.sine) else 0.0
    return Finding(conditions, (Check(says, mine, "<=", 1.0, error),))


def gradient_on(found: Creases) -> tuple[float, bool]:
    """‖g_1‖∞ over the box, rounding included, and whether that is exact or a bound from above."""
    (bound, allowance), exact = largest_gradient(found), exact_gradient(found)
    return float(((bound if exact is None else exact) + allowance).max()), exact is not None


def promised(found: Creases, j: int, epsilon: float) -> Bounds:
    """The bounds for teacher node j by the student that gives the smallest ones, in the box's own units."""
    box, d, K = found.box, len(found.box.low), len(found.of_star) + len(found.of)
    M_0 = float(box.farthest.norm())
    alpha = (found.v @ found.v_star[j]).abs()
    best = Bounds(-1, 0.0, math.inf, math.inf)
    sees = seen(found)[found.of_star[j]] if found.of_star[j] >= 0 else torch.zeros(len(alpha), dtype=torch.bool)
    for k in (sees & (alpha > 0)).nonzero()[:, 0].tolist():
        ratio = epsilon / float(alpha[k])
        r = _ball(regular(lowest(found.teacher)), j, regular(lowest(found.student)), k, box, 5 * ratio)
        if r > 0:
            M = 10 * _volume(d - 2, r) / _volume(d - 1, r)
            bounds = Bounds(k, r, M * K * ratio, (2 * M_0 * M * K + 5) * ratio)
            best = min(best, bounds, key=lambda b: b.sine)
    return best


def _volume(n: int, r: float) -> float:
    return math.pi ** (n / 2) * r**n / math.gamma(n / 2 + 1)


def _ball(star: Nodes, j: int, mine: Nodes, k: int, box: Box, q: float) -> float:
    """The largest radius of a ball in node j's boundary that stays q inside the box and inside k's active side.

    Regular nodes and a box of size one, so that the solver's tolerances mean something; the radius is computed again
    from the center that it finds.
    """
    w, b = star.w[j].numpy(), float(star.b[j])
    Q = np.linalg.svd(w[None])[2][1:].T  # directions within the boundary
    normals = np.vstack([np.eye(len(w)), -np.eye(len(w)), -mine.w[k].numpy()[None]])
    limits = np.concatenate([box.high.numpy(), -box.low.numpy(), [float(mine.b[k])]])
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
    """The least over nodes of max(sin θ̃/bound, bias gap/bound); ∞ if there is none."""
    if not len(nodes.b) or not math.isfinite(bounds.sine):
        return math.inf
    gaps = []
    for side in (1, -1):
        b_gap = (star.b[j] - side * nodes.b).abs()
        one = Nodes(star.w[j : j + 1], star.b.new_zeros(1))
        sine = alignment(one, Nodes(side * nodes.w, torch.zeros_like(nodes.b)))[0]
        gaps.append(torch.maximum(sine / (bounds.sine * factor), b_gap / (bounds.bias * factor)))
    return float(torch.stack(gaps).min())


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, node: int | None = None) -> Finding:
    """On the box that the points span."""
    return noisy_recovery(teacher, student, Box.of(x), node=node)


def _case(shift: float, **options) -> Finding:
    teacher, student, _ = shifted_students(shift, 1)
    return noisy_recovery(teacher, student, Box.around(2), **options)


THEOREM = Theorem(
    id="S0.T5",
    title="Noisy recovery",
    statement="If ‖g_1‖∞ ≤ ε on a region, an observed teacher node has a student whose angle and bias differ from its "
    "own by no more than constants times ε/|α_kj|: strong nodes are recovered at larger gradients.",
    source="S0 theorem 5, lemmas 5 and 6, sections 8.7, 8.8 and 8.13",
    check=noisy_recovery,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration("two nodes in the plane, students off by 1e-3", Verdict.HOLDS, lambda: _case(1e-3)),
        Demonstration("students off by 0.1: bounds say nothing", Verdict.NOT_APPLICABLE, lambda: _case(0.1)),
        Demonstration("negative control: second order in ε/|α_kj|", Verdict.REFUTED, lambda: _case(1e-6, squared=True)),
    ),
)
