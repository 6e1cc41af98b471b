r"""T5.T2, the weights that a student with L layers learns (T5 theorem 5.2).

Let the start W_1, …, W_L of a deep linear student, with w(0)ᵀ = W_L ⋯ W_1, be small, better than zero, and balanced:

    ‖w(0)‖ < min{‖ŵ‖, ε^L (ε²‖ŵ‖^{−2/L} + ‖ŵ‖^{2−2/L})^{−L/2}}   (5.11),
    ℓ₁(w(0)) < ℓ₁(0)   (5.12),   W_{l+1}ᵀ W_{l+1} = W_l W_lᵀ for l < L   (5.13).

Then gradient flow on points in general position reaches ‖w(t) − ŵ‖ ≤ ε (5.15), and w(t) → ŵ if n ≥ d (5.14). During
training, the part of w outside the span, with squared length q, grows with w:
log q(t)/q(0) = (L − 1)/L · log ‖w(t)‖²/‖w(0)‖² (D.32).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.trajectory import Trajectory
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.instruments.deep_limit import deep_limit
from relulab.subjects.distillation.theorems.shallow_student import (
    NEAR,
    away,
    case,
    measured,
    orthogonal,
    unfinished,
)
from relulab.subjects.distillation.tools.balanced_condition import is_balanced
from relulab.subjects.distillation.tools.balanced_start import (
    Factors,
    balanced_factors,
    balanced_start,
    factors,
    largest_start,
    product,
)
from relulab.subjects.distillation.tools.distillation_loss import gain
from relulab.subjects.distillation.tools.general_position import general_position
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.transfer import Numbers, Transfer, transfer

SHARE = 0.9  # length of a random start, as a share of the longest one that 5.11 allows
EPS = torch.finfo(torch.float64).eps
VISIBLE = 1e-20  # share of ‖w‖² above which q is more than rounding


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
    """Follow the flow from a balanced start to its end and compare the end with ŵ.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        depth: Number of layers L of the random start, at least 2. Not used if ``start`` is given.
        epsilon: ε, the distance from ŵ that is allowed at the end.
        start: Factor matrices W_1, …, W_L. Default: a random balanced start that satisfies 5.11 and 5.12.
        seed: Seed of the random start.
        steps: Maximum number of solver steps.
        share: If below 1, check a false variant of the statement (negative control): the end is claimed to be within
            this share of ε.
        constant: If True, check a false variant of the statement (negative control): the part outside the span is
            claimed to keep its length, which is true for one layer only.

    >>> long = [[[3.0, 0.0]], [[1.0]]]  # too long, and not balanced
    >>> deep_student([[2.0, 0.0], [1.0, 1.0]], [1.0, -1.0], start=long).verdict.name
    'NOT_APPLICABLE'
    """
    X, w_star = transfer(X, w_star)
    if depth < 2 and start is None:
        raise UserError(f"expected depth of at least 2, got {depth}: use T5.T1 (shallow_student) for one layer")
    w_hat = distilled(X, w_star).w
    if orthogonal(w_hat, w_star):
        raise UserError(
            "the teacher is orthogonal to all points, up to rounding, so ŵ = 0 and no start satisfies eq. 5.11: add "
            "other points"
        )
    norm = float(w_hat.norm())
    if start is None:
        longest = largest_start(epsilon, depth, norm)
        rng = stream(0, Role.CHANCE, seed)
        start = balanced_start(X, w_star, rng, depth=depth, norm=SHARE * longest)
    W = factors(start)
    conditions = _conditions(Transfer(X, w_star), W, largest_start(epsilon, len(W), norm))
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    path = distillation_flow(X, w_star, product(W), depth=len(W), steps=steps)
    return Finding(conditions, _conclusion(Transfer(X, w_star), W, path, (epsilon, share), constant))


def _conditions(given: Transfer, W: Factors, longest: float) -> tuple[Check, ...]:
    w_0 = product(W)
    change = float(gain(*given, w_0))
    # Each term of ℓ₁(w) − ℓ₁(0) is at most |u|/2 + u²/8.
    u = given.X @ w_0
    rounding = 8 * EPS * float((u.abs() / 2 + u**2 / 8).mean())
    length = float(w_0.norm())
    return (
        general_position(given.X),
        Check("The start is small enough (eq. 5.11)", length, "<=", longest * (1 - 4 * EPS),
              detail=f"‖w(0)‖ is {number(length)}, must be below {number(longest)}"),
        Check("The start is better than zero (eq. 5.12)", change, "<=", 0.0, rounding,
              detail=f"its loss minus that of zero weights, ℓ₁(w(0)) − ℓ₁(0), is {number(change)}, must be negative"),
        is_balanced(W),
    )  # fmt: skip


def _conclusion(
    given: Transfer, W: Factors, path: Trajectory[Tensor], allowed: tuple[float, float], constant: bool
) -> tuple[Check, ...]:
    w_0, L, (w_hat, rank) = product(W), len(W), distilled(*given)
    limit = deep_limit(*given, w_0, L)
    far, beyond = (float((path.end - goal).norm()) for goal in (w_hat, limit.w))
    size, (epsilon, share) = float(w_hat.norm()), allowed
    stopped, name = unfinished(path), "ε" if share == 1 else f"{share:g} ε"
    checks = [
        Check("The student ends at ŵ, because the points span the input space (eq. 5.14)", measured(far, path), "<=",
              NEAR * size, detail=stopped or away(far, w_hat))
        if int(rank) == len(w_hat)
        else Check(f"The student ends within {name} of ŵ (eq. 5.15)", measured(far, path), "<=", epsilon * share,
                   detail=stopped or f"the distance is {number(far)}, must be at most {number(epsilon * share)}"),
        Check("The student ends at the exact limit, computed by `deep_limit`", measured(beyond, path), "<=",
              NEAR * size, detail=stopped or away(beyond, w_hat)),
    ]  # fmt: skip
    q, squares = path["q"], path["w"].square().sum(-1)
    if q[0] > VISIBLE * squares[0]:
        power = 0.0 if constant else 1 - 1 / L
        gaps = (q / q[0]).log() - power * (squares / squares[0]).log()
        rate = "0" if constant else "(L − 1)/L · log ‖w(t)‖²/‖w(0)‖²"
        says, worst = f"log q(t)/q(0) = {rate} at all times t (eq. D.32)", float(gaps.abs().max())
        detail = f"the two sides differ by at most {number(worst)}; up to {NEAR:g} is the solver's error"
        checks.append(Check(says, worst, "<=", NEAR, detail=detail))
    return tuple(checks)


def _case(n: int, *, norm: float = math.nan, flip: bool = False, unbalanced: bool = False, **options) -> Finding:
    """Points in R⁸ and three layers; the options make a start that violates a condition."""
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
    title="A deep student ends near the projection of the teacher onto the span of its points",
    statement="Train a deep linear student wᵀ = W_L ⋯ W_1 on soft labels by gradient flow. Suppose that the start is "
    "small (‖w(0)‖ < ‖ŵ‖ (1 + ‖ŵ‖²/ε²)^{−L/2}, eq. 5.11), better than zero (ℓ₁(w(0)) < ℓ₁(0), eq. 5.12) and balanced "
    "(W_{l+1}ᵀ W_{l+1} = W_l W_lᵀ, eq. 5.13), and the points are in general position. Then w(t) ends within ε of ŵ. If "
    "n ≥ d, w(t) converges to ŵ.",
    symbols={
        "W_l": "weight matrix of layer l, l = 1, …, L",
        "L": "number of layers, at least 2",
        "w(t)": "product of all layers at time t of the gradient flow; also written w",
        "w*": "weights of the teacher",
        "ŵ": "w* projected onto the span of the points",
        "ε": "the distance from ŵ that is allowed at the end",
        "ℓ₁": "the distillation loss, as a function of w (eq. 5.1)",
        "q(t)": "squared length of the part of w(t) outside the span of the points",
        "n": "number of different points",
        "d": "number of input dimensions",
    },
    in_print="Eq. 5.11 is printed as a minimum of two terms. The second term equals ‖ŵ‖ (1 + ‖ŵ‖²/ε²)^{−L/2} and is "
    "always the smaller one. Convergence for n ≥ d is stated almost surely; here points in general position are a "
    "condition, as in T5.T1. The thesis only bounds the limit, but eqs. D.28 and D.32 determine it exactly, and the "
    "check compares with that limit as well. Eq. D.8 leaves out the factor 1/n of the loss.",
    source="T5 theorem 5.2, eqs. 5.11 to 5.15 and D.32",
    check=deep_student,
    on={LinearTeacher: _of_transfer},
    variants=("share", "constant"),
    demonstrations=(
        Demonstration("4 points in R⁸, three layers", Verdict.HOLDS, lambda: _case(4)),
        Demonstration("8 points in R⁸, three layers", Verdict.HOLDS, lambda: _case(8)),
        Demonstration("16 points in R⁸, three layers", Verdict.HOLDS, lambda: _case(16)),
        Demonstration("Start too long (eq. 5.11)", Verdict.NOT_APPLICABLE, lambda: _case(4, norm=0.3)),
        Demonstration("Start worse than zero (eq. 5.12)", Verdict.NOT_APPLICABLE, lambda: _case(4, flip=True)),
        Demonstration("Start not balanced (eq. 5.13)", Verdict.NOT_APPLICABLE, lambda: _case(4, unbalanced=True)),
        Demonstration("Negative control: within a twentieth of ε", Verdict.REFUTED, lambda: _case(4, share=0.05)),
        Demonstration(
            "Negative control: the part outside the span keeps its length",
            Verdict.REFUTED,
            lambda: _case(4, constant=True),
        ),
    ),
)
