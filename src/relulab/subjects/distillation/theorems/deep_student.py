r"""T5.T2, what a student of L layers learns (T5 theorem 5.2).

Let the start W_1, …, W_L of a deep linear student with w(0)ᵀ = W_L ⋯ W_1 be short, better than zero, and balanced:

    ‖w(0)‖ < min{‖ŵ‖, ε^L (ε²‖ŵ‖^{−2/L} + ‖ŵ‖^{2−2/L})^{−L/2}}   (5.11),
    ℓ₁(w(0)) < ℓ₁(0)   (5.12),   W_{l+1}ᵀ W_{l+1} = W_l W_lᵀ for l < L   (5.13).

Then under gradient flow ‖w(t) − ŵ‖ ≤ ε in the end (5.15), and w(t) → ŵ where the points span R^d (5.14). On the way the
part of w outside their span, of square length q, grows with w: log q(t)/q(0) = (L − 1)/L · log ‖w(t)‖²/‖w(0)‖² (D.32).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.trajectory import Trajectory
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.instruments.deep_limit import deep_limit
from relulab.subjects.distillation.theorems.shallow_student import NEAR, case, ended, measured
from relulab.subjects.distillation.tools.balanced_start import (
    Factors,
    balanced_factors,
    balanced_start,
    factors,
    imbalance,
    largest_start,
    product,
)
from relulab.subjects.distillation.tools.distillation_loss import gain
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.transfer import Numbers, Transfer, transfer

SHARE = 0.9  # of the longest start that 5.11 allows, unless one is given
EPS = torch.finfo(torch.float64).eps
VISIBLE = 1e-20  # of ‖w‖², from which q is more than rounding


def deep_student(
    X: Numbers,
    w_star: Numbers,
    *,
    depth: int = 2,
    epsilon: float = 0.1,
    start: Sequence[Numbers] | None = None,
    seed: int = 0,
    steps: int = 2000,
    share: float = 1.0,
    constant: bool = False,
) -> Finding:
    """Follows the flow from a balanced start, by default a random one that 5.11 and 5.12 allow, and measures the end.

    Args:
        X: Points, (n, d), a point a row.
        w_star: The teacher w*, (d,), not zero.
        depth: Number of layers L of the random start, at least 2; a given start has its own.
        epsilon: ε, the distance from ŵ that is allowed in the end.
        start: Factor matrices W_1, …, W_L. None draws a balanced start.
        seed: Seed of the random start.
        steps: The most steps of the solver.
        share: A false variant of the statement, for the negative control, if below 1: the end is claimed to be within
            this share of ε.
        constant: A false variant of the statement, for the negative control: the part outside the span is claimed to
            stay as it was, which is true of one layer.

    >>> long = [[[3.0, 0.0]], [[1.0]]]  # and not balanced
    >>> deep_student([[2.0, 0.0], [1.0, 1.0]], [1.0, -1.0], start=long).verdict.name
    'NOT_APPLICABLE'
    """
    X, w_star = transfer(X, w_star)
    if depth < 2 and start is None:
        raise UserError(f"depth = {depth}: theorem 5.2 is about two layers or more, T5.T1 about one")
    norm = float(distilled(X, w_star).w.norm())
    if not norm:
        raise UserError("the teacher is orthogonal to all points, so ŵ = 0: no start is shorter than that (5.11)")
    if start is None:
        longest = largest_start(epsilon, depth, norm)
        rng = stream(0, Role.CHANCE, seed)
        start = balanced_start(X, w_star, rng, depth=depth, norm=SHARE * longest)
    W = factors(start)
    conditions = _conditions(Transfer(X, w_star), W, largest_start(epsilon, len(W), norm))
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    path = distillation_flow(X, w_star, product(W), depth=len(W), steps=steps)
    return Finding(conditions, _conclusion(Transfer(X, w_star), W, path, epsilon * share, constant))


def _conditions(given: Transfer, W: Factors, longest: float) -> tuple[Check, ...]:
    w_0 = product(W)
    gained = float(gain(*given, w_0))
    # the terms of ℓ₁(w) − ℓ₁(0) are at most |u|/2 + u²/8
    u = given.X @ w_0
    rounding = 8 * EPS * float((u.abs() / 2 + u**2 / 8).mean())
    wide = max(max(matrix.shape) for matrix in W)
    return (
        Check("‖w(0)‖ against its bound (5.11)", float(w_0.norm()), "<=", longest * (1 - 4 * EPS)),
        Check("ℓ₁(w(0)) − ℓ₁(0) (5.12)", gained, "<=", 0.0, rounding),
        Check("imbalance as a share of the largest ‖W_l‖² (5.13)", imbalance(W), "==", 0.0, 8 * wide * EPS),
    )


def _conclusion(
    given: Transfer, W: Factors, path: Trajectory[Tensor], epsilon: float, constant: bool
) -> tuple[Check, ...]:
    w_0, L, (w_hat, rank) = product(W), len(W), distilled(*given)
    limit = deep_limit(*given, w_0, L)
    distance = measured(float((path.end - w_hat).norm()), path)
    size = float(w_hat.norm())
    whole = int(rank) == len(w_hat)
    checks = [
        Check(f"‖w(t) − ŵ‖ {ended(path)}, points that span R^d (eq. 5.14)", distance, "<=", NEAR * size)
        if whole
        else Check(f"‖w(t) − ŵ‖ {ended(path)}, against ε (eq. 5.15)", distance, "<=", epsilon),
        Check("distance of the end from the exact limit", measured(float((path.end - limit.w).norm()), path), "<=",
              NEAR * size),
    ]  # fmt: skip
    q, squares = path["q"], path["w"].square().sum(-1)
    if q[0] > VISIBLE * squares[0]:
        power = 0.0 if constant else 1 - 1 / L
        gaps = (q / q[0]).log() - power * (squares / squares[0]).log()
        says = "largest gap of log q(t)/q(0) from " + ("0" if constant else "(L − 1)/L · log ‖w(t)‖²/‖w(0)‖² (D.32)")
        checks.append(Check(says, float(gaps.abs().max()), "<=", NEAR))
    return tuple(checks)


def _case(n: int, *, norm: float = math.nan, flip: bool = False, unbalanced: bool = False, **options) -> Finding:
    """Points in R⁸ and three layers, with a start that breaks a condition if asked."""
    X, w_star = case(n, 8, 15)
    if not (norm > 0 or flip or unbalanced):
        return deep_student(X, w_star, depth=3, epsilon=0.5, **options)
    rng = stream(0, Role.DEMONSTRATION, 15, 1)
    norm = norm if norm > 0 else SHARE * largest_start(0.5, 3, float(distilled(X, w_star).w.norm()))
    W = balanced_start(X, w_star, rng, depth=3, norm=norm)
    if flip:
        W = balanced_factors(-product(W), rng, depth=3)
    if unbalanced:
        W = [2 * W[0], W[1], W[2] / 2]
    return deep_student(X, w_star, epsilon=0.5, start=W, **options)


def _of_transfer(
    X: Numbers, w_star: Numbers, *, depth: int = 2, epsilon: float = 0.1, seed: int = 0, steps: int = 2000
) -> Finding:
    return deep_student(X, w_star, depth=depth, epsilon=epsilon, seed=seed, steps=steps)


THEOREM = Theorem(
    id="T5.T2",
    title="A deep student ends near the teacher's projection on its points",
    statement="Gradient flow of a deep linear student on soft labels, from a balanced start that is small and better "
    "than zero, ends within ε of the teacher's projection ŵ on the span of the points, and at ŵ for n ≥ d.",
    source="T5 theorem 5.2, eqs. 5.11 to 5.15 and D.32",
    check=deep_student,
    on={LinearTeacher: _of_transfer},
    variants=("share", "constant"),
    demonstrations=(
        Demonstration("4 points in R⁸, three layers", Verdict.HOLDS, lambda: _case(4)),
        Demonstration("8 points in R⁸", Verdict.HOLDS, lambda: _case(8)),
        Demonstration("16 points in R⁸", Verdict.HOLDS, lambda: _case(16)),
        Demonstration("a start that is too long (5.11)", Verdict.NOT_APPLICABLE, lambda: _case(4, norm=0.3)),
        Demonstration("a start worse than zero (5.12)", Verdict.NOT_APPLICABLE, lambda: _case(4, flip=True)),
        Demonstration("a start that is not balanced (5.13)", Verdict.NOT_APPLICABLE, lambda: _case(4, unbalanced=True)),
        Demonstration("negative control: within a twentieth of ε", Verdict.REFUTED, lambda: _case(4, share=0.05)),
        Demonstration(
            "negative control: the part outside the span stays", Verdict.REFUTED, lambda: _case(4, constant=True)
        ),
    ),
)
