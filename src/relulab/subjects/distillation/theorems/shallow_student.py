r"""T5.T1, what a student of one layer learns (T5 theorem 5.1).

Under gradient flow of the loss 5.1 from w(0) = 0 a student ends at w(t) → ŵ, the teacher w* projected on the span of
the points: w* itself for n ≥ d points, X(XᵀX)⁻¹Xᵀw* (points in columns) for n < d (5.5, 5.6). T5 has points in general
position. With the projection for ŵ it is as true for points of any rank, and so it is checked here.
"""

import numpy as np
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.flow.trajectory import Trajectory
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

NEAR = 1e-6  # of ‖ŵ‖, the distance that counts as none; the flow stops where it sees 1e-8


def shallow_student(
    X: Numbers, w_star: Numbers, *, start: Numbers | None = None, steps: int = 2000, whole_teacher: bool = False
) -> Finding:
    """Follows the flow to its end and compares with ŵ.

    Args:
        X: Points, (n, d), a point a row.
        w_star: The teacher w*, (d,), not zero.
        start: w(0), (d,), which the theorem asks to be zero. None is zero.
        steps: The most steps of the solver.
        whole_teacher: A false variant of the statement, for the negative control: the end is claimed to be w* whatever
            the points are, though they may not span R^d.

    >>> shallow_student([[2.0, 0.0], [1.0, 1.0]], [1.0, -1.0]).verdict.name
    'HOLDS'
    """
    X, w_star = transfer(X, w_star)
    length = 0.0 if start is None else float(np.linalg.norm(np.asarray(start, dtype=float)))
    conditions = (Check("‖w(0)‖", length, "==", 0.0),)
    if not conditions[0].holds:
        return Finding(conditions, ())
    path = distillation_flow(X, w_star, steps=steps)
    goal, name = (w_star, "w*") if whole_teacher else (distilled(X, w_star).w, "ŵ")
    distance = float((path.end - goal).norm())
    rise = float(path["loss"].diff().max() / path["loss"][0]) if len(path) > 1 else 0.0
    return Finding(conditions, (
        Check(f"‖w(t) − {name}‖ {ended(path)}", measured(distance, path), "<=", NEAR * float(goal.norm())),
        Check("largest rise of the loss from look to look, as a share of the first (eq. 5.8)", rise, "<=", NEAR),
    ))  # fmt: skip


def ended(path: Trajectory[Tensor]) -> str:
    """At the end; or why that was not reached."""
    return "at the end" if path.reached else f"at the end, which is unknown: {path.says}"


def measured(number: float, path: Trajectory[Tensor]) -> float:
    """The number if the flow came to its end; otherwise nothing is known of the limit."""
    return number if path.reached else float("nan")


def case(n: int, d: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian points and a Gaussian teacher."""
    rng = stream(0, Role.DEMONSTRATION, index)
    w_star = rng.standard_normal(d)
    return rng.standard_normal((n, d)), w_star


def _of_transfer(X: Numbers, w_star: Numbers, *, steps: int = 2000) -> Finding:
    return shallow_student(X, w_star, steps=steps)


THEOREM = Theorem(
    id="T5.T1",
    title="A shallow student learns the teacher's projection on its points",
    statement="Gradient flow of a linear student on soft labels, from w(0) = 0, ends at ŵ, the projection of the "
    "teacher w* on the span of the points: at w* itself once n ≥ d.",
    source="T5 theorem 5.1, eqs. 5.5 and 5.6",
    check=shallow_student,
    on={LinearTeacher: _of_transfer},
    variants=("whole_teacher",),
    demonstrations=(
        Demonstration("4 points in R⁸", Verdict.HOLDS, lambda: shallow_student(*case(4, 8, 14))),
        Demonstration("8 points in R⁸", Verdict.HOLDS, lambda: shallow_student(*case(8, 8, 14))),
        Demonstration("16 points in R⁸", Verdict.HOLDS, lambda: shallow_student(*case(16, 8, 14))),
        Demonstration(
            "a start that is not zero",
            Verdict.NOT_APPLICABLE,
            lambda: shallow_student(*case(4, 8, 14), start=np.full(8, 0.1)),
        ),
        Demonstration(
            "negative control: all of the teacher from 4 points in R⁸",
            Verdict.REFUTED,
            lambda: shallow_student(*case(4, 8, 14), whole_teacher=True),
        ),
    ),
)
