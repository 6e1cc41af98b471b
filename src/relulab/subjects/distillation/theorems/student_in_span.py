r"""T5.LD1, a shallow student that starts at zero never leaves the span of its points (T5 lemma D.1).

The gradient ∇ℓ₁(w) = (1/n) Σ_i (σ(wᵀx_i) − y_i) x_i is a combination of the points (theorem D.1). So for every q
orthogonal to all points, d/dτ qᵀw(τ) = −qᵀ∇ℓ₁(w(τ)) = 0 (D.18), and qᵀw(0) = 0.

``distillation_flow`` works in coordinates of the span and would make this true by construction. Here the flow is
followed in all of R^d by an explicit method that knows nothing of the span.
"""

import math

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.flow.distillation_flow import given_start
from relulab.subjects.distillation.theorems.shallow_student import case
from relulab.subjects.distillation.tools.distillation_loss import gradient, pull
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.span import span
from relulab.subjects.distillation.tools.transfer import Numbers, Transfer, transfer

EPS = torch.finfo(torch.float64).eps
LOOKS = 40  # recorded times
SOLVER = 1e-8  # relative error of a solver step
VISIBLE = (
    1e-6  # a part outside the span below this share of ‖w‖ cannot be told from rounding if points are near-dependent
)


def student_in_span(
    X: Numbers,
    w_star: Numbers,
    *,
    start: Numbers | None = None,
    until: float = 50.0,
    any_start: bool = False,
    without_last: bool = False,
) -> Finding:
    """Follow the flow in R^d and measure the part of the student outside the span of the points.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        start: w(0), (d,); the lemma requires zero, which is also the default.
        until: The time at which the flow ends, in units of the inverse of the largest possible curvature of the loss.
        any_start: If True, check a false variant of the statement (negative control): the start may be any vector.
        without_last: If True, check a false variant of the statement (negative control): the student is claimed to stay
            in the span of all points but the last.

    >>> student_in_span([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [1.0, -1.0, 2.0]).verdict.name
    'HOLDS'
    """
    given = transfer(X, w_star)
    if given.X.dim() != 2 or not 0 < until < math.inf:
        raise UserError(
            f"expected one set of points, (n, d), and a positive until, got shape {tuple(given.X.shape)} and until = "
            f"{until}: give one set and a time such as 50"
        )
    w_0 = given_start(start, 1, given.X.shape[1])[0]
    length = float(w_0.norm())
    at_zero = Check("The student starts at zero", length, "==", 0.0, detail=f"‖w(0)‖ = {length:.3g}")
    conditions = () if any_start else (at_zero,)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    return Finding(conditions, (_stays(given, w_0, until, given.X[:-1] if without_last else given.X),))


def _stays(given: Transfer, w_0: Tensor, until: float, within: Tensor) -> Check:
    says = f"At {LOOKS} times, the student lies in the span of the points"
    rank, (n, d) = int(span(within).rank) if within.any() else 0, given.X.shape
    if rank == d:
        why = f"unknown, because the points span all of the {d} dimensions and there is nothing outside"
        return Check(says, math.nan, "==", 0.0, detail=why)
    w, traveled = _path(given, w_0, until)
    size = float(w.norm(dim=-1).max())
    if not traveled > 0:
        why = "unknown, because the teacher is orthogonal to all points and the student does not move"
        return Check(says, math.nan, "==", 0.0, detail=why)
    inside = span(within).projected(w) if rank else torch.zeros_like(w)
    share = float((w - inside).norm(dim=-1).max()) / size
    # The span contains the points up to max(n, d) √n eps, and w is a sum of multiples of them of this total length.
    rounding = 16 * max(n, d) * math.sqrt(n) * EPS * max(traveled / size, 1.0)
    detail = (
        f"the part outside the span is at most {number(share)} of the largest ‖w(τ)‖; up to {number(rounding)} is "
        "rounding"
    )
    return Check(says, share, "==", 0.0, rounding, VISIBLE, detail)


def _path(given: Transfer, w_0: Tensor, until: float) -> tuple[Float64[Tensor, "looks d"], float]:
    """The student at the recorded times, and the total length Σ_i ∫ |σ(wᵀx_i) − y_i| ‖x_i‖/n of all pulls on it.

    Points are divided by their largest entry s and weights multiplied by it, which leaves all logits as they are.
    """
    from scipy.integrate import solve_ivp

    s = float(given.X.abs().max())
    if not s:
        return w_0[None], 0.0
    X, w_star = given.X / s, given.w_star * s
    top = float(torch.linalg.matrix_norm(X, 2)) ** 2 / len(X) / 4
    end = until / top
    scale = float(gradient(X, w_star, w_0 * s).norm()) / top
    if not scale:
        return w_0[None], 0.0
    times = np.append(0.0, np.geomspace(end / 1e4, end, LOOKS - 1))
    flow = solve_ivp(
        lambda t, w: -gradient(X, w_star, torch.from_numpy(w)).numpy(), (0.0, end), (w_0 * s).numpy(), "DOP853", times,
        rtol=SOLVER, atol=SOLVER * scale,
    )  # fmt: skip
    w = torch.from_numpy(flow.y.T.copy())
    pulls = (pull((X @ w_star).expand(len(w), -1), (w - w_star) @ X.mT).abs() * X.norm(dim=-1)).mean(-1)
    return w / s, float(torch.trapezoid(pulls, torch.from_numpy(times))) / s


def _of_transfer(X: Numbers, w_star: Numbers, *, until: float = 50.0) -> Finding:
    return student_in_span(X, w_star, until=until)


THEOREM = Theorem(
    id="T5.LD1",
    title="A shallow student never leaves the span of its points",
    statement="Train a linear student w on the soft labels of a linear teacher by gradient flow from w(0) = 0. Then "
    "w(τ) lies in the span of the points for all τ ≥ 0.",
    symbols={
        "w(τ)": "weights of the student at time τ of the gradient flow; also written w",
        "τ": "time",
        "d": "number of input dimensions",
    },
    in_print="If the points span all dimensions, the lemma says nothing, and the check is INCONCLUSIVE.",
    source="T5 lemma D.1, eq. D.18",
    check=student_in_span,
    on={LinearTeacher: _of_transfer},
    variants=("any_start", "without_last"),
    demonstrations=(
        Demonstration("4 points in R⁸", Verdict.HOLDS, lambda: student_in_span(*case(4, 8, 14))),
        Demonstration(
            "16 points in a plane of R⁸",
            Verdict.HOLDS,
            lambda: student_in_span(case(16, 2, 14)[0] @ np.eye(2, 8), case(1, 8, 14)[1]),
        ),
        Demonstration(
            "Start not at zero",
            Verdict.NOT_APPLICABLE,
            lambda: student_in_span(*case(4, 8, 14), start=np.full(8, 0.1)),
        ),
        Demonstration(
            "Negative control: any start",
            Verdict.REFUTED,
            lambda: student_in_span(*case(4, 8, 14), start=np.full(8, 0.1), any_start=True),
        ),
        Demonstration(
            "Negative control: the span of all points but the last",
            Verdict.REFUTED,
            lambda: student_in_span(*case(4, 8, 14), without_last=True),
        ),
    ),
)
