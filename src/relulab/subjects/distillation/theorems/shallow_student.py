r"""T5.T1, the weights that a student with one layer learns (T5 theorem 5.1).

Under gradient flow of the loss 5.1 from w(0) = 0, the student converges to ŵ, the teacher w* projected onto the span of
the points: w* itself for n ≥ d points, X(XᵀX)⁻¹Xᵀw* (points in columns) for n < d (5.5, 5.6). The points must have
full rank.
"""

import math

import numpy as np
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.flow.trajectory import Trajectory
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow, given_start
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.tools.general_position import general_position
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

NEAR = 1e-6  # distance that counts as zero, as a share of ‖ŵ‖; the flow itself stops at 1e-8
ORTHOGONAL = 1e-8  # largest ‖ŵ‖/‖w*‖ for which the end is undecided, because rounding is not far below NEAR ‖ŵ‖


def shallow_student(
    X: Numbers, w_star: Numbers, *, start: Numbers | None = None, steps: int = 2000, whole_teacher: bool = False
) -> Finding:
    """Follow the flow to its end and compare the end with ŵ.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        start: w(0), (d,); the theorem requires zero, which is also the default.
        steps: Maximum number of solver steps.
        whole_teacher: If True, check a false variant of the statement (negative control): the end is claimed to be w*
            even if the points do not span R^d.

    >>> shallow_student([[2.0, 0.0], [1.0, 1.0]], [1.0, -1.0]).verdict.name
    'HOLDS'
    """
    X, w_star = transfer(X, w_star)
    length = 0.0 if start is None else float(given_start(start, 1, X.shape[1])[0].norm())
    conditions = (
        Check("The student starts at zero", length, "==", 0.0, detail=f"‖w(0)‖ = {length:.3g}"),
        general_position(X),
    )
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    w_hat = distilled(X, w_star).w
    if orthogonal(w_hat, w_star):
        detail = "the teacher is orthogonal to all points, up to rounding, so ŵ = 0 and the student does not move"
        return Finding(conditions, (Check("The student ends at ŵ", math.nan, "<=", 0.0, detail=detail),))
    path = distillation_flow(X, w_star, steps=steps)
    goal, name = (w_star, "w*") if whole_teacher else (w_hat, "ŵ")
    distance = float((path.end - goal).norm())
    increase = float(path["loss"].diff().max() / path["loss"][0]) if len(path) > 1 else math.nan
    return Finding(conditions, (
        Check(
            f"The student ends at {name}",
            measured(distance, path), "<=", NEAR * float(goal.norm()), detail=unfinished(path) or away(distance, goal),
        ),
        Check(
            "The loss never increases between two snapshots (eq. 5.8)", increase, "<=", NEAR,
            detail=f"the largest change is {number(increase)} of the first value; up to {NEAR:g} is the solver's error",
        ),
    ))  # fmt: skip


def orthogonal(w_hat: Tensor, w_star: Tensor) -> bool:
    """Whether the teacher is orthogonal to all points, as far as rounding allows to say."""
    return bool(w_hat.norm() <= ORTHOGONAL * w_star.norm())


def away(distance: float, goal: Tensor) -> str:
    """The distance from the expected end in words.

    Args:
        distance: The distance.
        goal: The weights at the expected end.
    """
    size = float(goal.norm())
    return f"it ends at a distance of {number(distance)}; up to {number(NEAR * size)} is the solver's error"


def unfinished(path: Trajectory[Tensor]) -> str:
    """Why the limit is unknown; empty if the flow reached its end."""
    return "" if path.reached else f"unknown, because {path.says}"


def measured(value: float, path: Trajectory[Tensor]) -> float:
    """The value if the flow reached its end, otherwise NaN."""
    return value if path.reached else float("nan")


def case(n: int, d: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian points and a Gaussian teacher."""
    rng = stream(0, Role.DEMONSTRATION, index)
    w_star = rng.standard_normal(d)
    return rng.standard_normal((n, d)), w_star


def _of_transfer(X: Numbers, w_star: Numbers, *, steps: int = 2000) -> Finding:
    return shallow_student(X, w_star, steps=steps)


THEOREM = Theorem(
    id="T5.T1",
    title="A shallow student learns the projection of the teacher onto the span of its points",
    statement="Train a linear student w on the soft labels of a linear teacher w* by gradient flow from w(0) = 0. "
    "Then w(t) converges to ŵ, the projection of w* onto the span of the n points, which are in general position: they "
    "span min(n, d) dimensions. If n ≥ d, then ŵ = w*.",
    symbols={
        "w(t)": "weights of the student at time t of the gradient flow; also written w",
        "w*": "weights of the linear teacher",
        "ŵ": "w* projected onto the span of the points",
        "n": "number of different points",
        "d": "number of input dimensions",
    },
    in_print="The theorem holds almost surely, because its proof needs points of full rank, a condition here. A "
    "repeated point counts once, because repeating it only weights the loss. Three different points on one line in a "
    "plane do not have full rank: the student ends at the projection `distilled`, which is not w* although n ≥ d.",
    source="T5 theorem 5.1, eqs. 5.5 and 5.6",
    check=shallow_student,
    on={LinearTeacher: _of_transfer},
    variants=("whole_teacher",),
    demonstrations=(
        Demonstration("4 points in R⁸", Verdict.HOLDS, lambda: shallow_student(*case(4, 8, 14))),
        Demonstration("8 points in R⁸", Verdict.HOLDS, lambda: shallow_student(*case(8, 8, 14))),
        Demonstration("16 points in R⁸", Verdict.HOLDS, lambda: shallow_student(*case(16, 8, 14))),
        Demonstration(
            "Start not at zero",
            Verdict.NOT_APPLICABLE,
            lambda: shallow_student(*case(4, 8, 14), start=np.full(8, 0.1)),
        ),
        Demonstration(
            "8 points in a plane of R⁸",
            Verdict.NOT_APPLICABLE,
            lambda: shallow_student(case(8, 2, 14)[0] @ np.eye(2, 8), case(1, 8, 14)[1]),
        ),
        Demonstration(
            "Negative control: the whole teacher from 4 points in R⁸",
            Verdict.REFUTED,
            lambda: shallow_student(*case(4, 8, 14), whole_teacher=True),
        ),
    ),
)
