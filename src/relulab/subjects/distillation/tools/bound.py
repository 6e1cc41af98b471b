"""The bound on the expected transfer risk, minimized over β (T5 theorems 5.3 and D.4), and its two corollaries."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError
from relulab.subjects.distillation.tools.angle_laws import RIGHT, AngleLaw

GRID = 1025  # angles β that are tried, evenly, nearer and nearer to π/2, and between the neighbors of the best
ROUNDING = 1e-12  # by which the second angle is taken smaller, so that no step of an estimated law is missed
MOST = 2**40  # points that are never exceeded in a search for how many are needed


class Bound(NamedTuple):
    """An upper bound on E R for each n, and the angle β that gives it. 1 says nothing."""

    value: Float64[np.ndarray, "*n"]
    beta: Float64[np.ndarray, "*n"]


def transfer_bound(
    law: AngleLaw, n: int | Sequence[int] | np.ndarray, *, d: int | None = None, delta: float = 0.0, tight: bool = False
) -> Bound:
    """The least p(β) + p(π/2 − δ − β)ⁿ over β in [0, π/2 − δ], which E R does not exceed (T5 eqs. 5.19 and D.43).

    Every β gives a bound, so a minimum that is found roughly still holds; for an estimated law it is exact, as p has
    steps.

    Args:
        law: The law p of the angle between an input and the teacher.
        n: Points of a transfer set, one number or several, each at least 1.
        d: Number of input dimensions, from which on the risk is 0 (5.18). None does not use it.
        delta: δ, an angle from 0 to π/2: 0 for students that reach ŵ, and what theorem D.4 has for those that come near
            it; see the function ``delta``.
        tight: Whether to take p(β) + (1 − p(β)) p(π/2 − δ − β)ⁿ, as the proof of the theorem has it before its last
            step.

    >>> from relulab.subjects.distillation.tools.angle_laws import PolynomialAngles
    >>> transfer_bound(PolynomialAngles(kappa=2), [5, 50, 500]).value.round(4).tolist()
    [0.1157, 0.0054, 0.0001]
    """
    n = np.asarray(n)
    if n.dtype.kind not in "iu" or (n < 1).any():
        raise UserError(f"n = {n.tolist()}: whole numbers from 1 were expected, the points of a transfer set")
    _checked(law, d)
    if not 0 <= delta <= RIGHT:
        raise UserError(f"delta = {delta}: an angle from 0 to π/2 was expected")
    value, beta = np.ones(n.shape), np.zeros(n.shape)
    for at in np.ndindex(n.shape):
        value[at], beta[at] = _least(law, int(n[at]), delta, tight)
    if d is not None:
        value[n >= d] = 0.0
    return Bound(value, beta)


def _least(law: AngleLaw, n: int, delta: float, tight: bool) -> tuple[float, float]:
    def at(beta: np.ndarray) -> tuple[float, float, int]:
        easy, missed = law.p(beta), law.p(RIGHT - delta - beta - ROUNDING) ** n
        total = easy + (1 - easy) * missed if tight else easy + missed
        best = int(np.argmin(total))
        return float(total[best]), float(beta[best]), best

    steps = getattr(law, "steps", None)
    if steps is not None:
        steps = steps[steps <= RIGHT - delta]
        value, beta, _ = at(steps if len(steps) else np.zeros(1))
    else:
        top = RIGHT - delta
        # for many points the best β is nearly right, and where a law has its widest angle there is a corner
        grid = np.concatenate([np.linspace(0, top, GRID), top * (1 - np.geomspace(1e-14, 1, GRID))])
        grid = np.unique(np.append(grid, min(getattr(law, "widest", top), top)))
        value, beta, best = at(grid)
        finer = at(np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], GRID))
        value, beta = min((value, beta), finer[:2])
    return min(value, 1.0), beta


def _checked(law: AngleLaw, d: int | None) -> None:
    if not hasattr(law, "p"):
        raise UserError(
            f"a law of type {type(law).__name__}: PolynomialAngles, SphereAngles or EstimatedAngles.of(X, w)"
        )
    if d is not None and (d != int(d) or d < 1):
        raise UserError(f"d = {d}: a whole number of dimensions from 1 was expected")


def delta(epsilon: float, norm: float, *, sharp: bool = False) -> float:
    """δ of T5 theorem D.4 for students within ε of a ŵ of this norm: √(2πε/‖ŵ‖), at most π/2.

    It bounds the angle between the two (lemma D.3), for ε ≤ ‖ŵ‖/2. The largest such angle is arcsin(ε/‖ŵ‖), which
    ``sharp`` gives: of first order in ε, so far smaller.

    >>> round(delta(1e-4, 1.0), 4), round(delta(1e-4, 1.0, sharp=True), 4)
    (0.0251, 0.0001)
    """
    if not 0 <= epsilon <= norm / 2:
        raise UserError(f"epsilon = {epsilon:g} for ‖ŵ‖ = {norm:g}: theorem D.4 asks for 0 ≤ ε ≤ ‖ŵ‖/2")
    ratio = epsilon / norm if norm else 0.0
    return math.asin(ratio) if sharp else min(math.sqrt(2 * math.pi * ratio), RIGHT)


def samples_needed(
    law: AngleLaw, risk: float, *, d: int | None = None, delta: float = 0.0, tight: bool = False
) -> int | None:
    """The least n for which the bound is at most ``risk``; d points always do. None if 2⁴⁰ do not.

    Args:
        law: The law p of the angle between an input and the teacher.
        risk: The risk that is wanted, above 0, at most 1.
        d: Number of input dimensions, which is always enough points. None does not use it.
        delta: δ of ``transfer_bound``.
        tight: Whether to take the tighter bound of ``transfer_bound``.

    >>> from relulab.subjects.distillation.tools.angle_laws import PolynomialAngles
    >>> samples_needed(PolynomialAngles(kappa=2), 0.01)
    34
    """
    _checked(law, d)
    if not 0 < risk <= 1:
        raise UserError(f"a wanted risk of {risk}: a number above 0, at most 1, was expected")
    most = MOST if d is None else d

    def enough(n: int) -> bool:
        return (d is not None and n >= d) or _least(law, n, delta, tight)[0] <= risk

    high = 1
    while not enough(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2  # the bound falls with n, so what is enough stays so
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def margin_bound(gamma: float, n: int | np.ndarray) -> Float64[np.ndarray, "*n"]:
    """γⁿ, for tasks with p(β) = 0 and γ = p(π/2 − β) < 1: the risk falls exponentially (T5 corollary 5.1).

    Args:
        gamma: γ, the probability of an angle of π/2 − β or more, from 0 to 1.
        n: Points of a transfer set, one number or many.

    >>> margin_bound(0.5, 4).item()
    0.0625
    """
    if not 0 <= gamma <= 1:
        raise UserError(f"gamma = {gamma}: a probability was expected")
    return np.asarray(float(gamma) ** np.asarray(n))


def polynomial_bound(kappa: float, n: int | np.ndarray) -> Float64[np.ndarray, "*n"]:
    """(1 + (log n)^κ)/n^κ, for tasks with p(θ) ≤ (1 − 2θ/π)^κ (T5 corollary 5.2).

    Args:
        kappa: The degree κ, at least 0.
        n: Points of a transfer set, one number or many, each at least 1.

    >>> polynomial_bound(1, 1).item()
    1.0
    """
    if not kappa >= 0:
        raise UserError(f"kappa = {kappa}: a degree of 0 or more was expected")
    n = np.asarray(n, dtype=float)
    return np.asarray((1 + np.log(n) ** kappa) / n**kappa)
