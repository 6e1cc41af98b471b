"""Bounds on the expected transfer risk: theorems 5.3 and D.4 of T5, minimized over β, and the two corollaries."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int

from relulab.core.errors import UserError
from relulab.core.explained import checks_itself
from relulab.core.short_repr import short_repr
from relulab.subjects.distillation.tools.angle_laws import RIGHT, AngleLaw

GRID = 1025  # number of angles β per search: evenly spaced, dense near π/2, and between the neighbors of the best
ROUNDING = 1e-12  # subtracted from the second angle, so that no step of an estimated distribution is missed
MOST = 2**40  # largest number of points that is searched


class Bound(NamedTuple):
    """An upper bound on the expected risk for each n, and the angle β that gives it. A bound of 1 says nothing."""

    value: Float64[np.ndarray, "*n"]
    beta: Float64[np.ndarray, "*n"]

    __repr__ = short_repr


@checks_itself("law", "n")
def transfer_bound(
    law: AngleLaw, n: int | Sequence[int] | np.ndarray, *, d: int | None = None, delta: float = 0.0, tight: bool = False
) -> Bound:
    """The bound min_β p(β) + p(π/2 − δ − β)ⁿ on the expected transfer risk (T5 eqs. 5.19 and D.43).

    The minimum is over β in [0, π/2 − δ]. Every β gives a valid bound, so an approximate minimum is valid too. For an
    estimated distribution, p is a step function and the minimum is exact.

    Args:
        law: The distribution of the angle between an input and the teacher.
        n: Points per transfer set, one number or several, each at least 1.
        d: Number of input dimensions. If given, the bound is 0 for n ≥ d (5.18).
        delta: δ, an angle from 0 to π/2: 0 for students that reach ŵ; for students close to ŵ (theorem D.4) see the
            function ``delta``.
        tight: If True, use p(β) + (1 − p(β)) p(π/2 − δ − β)ⁿ, the tighter bound from the proof of theorem 5.3.

    >>> from relulab.subjects.distillation.tools.angle_laws import PolynomialAngles
    >>> transfer_bound(PolynomialAngles(kappa=2), [5, 50, 500]).value.round(4).tolist()
    [0.1157, 0.0054, 0.0001]
    """
    n = positive_integers(n)
    _checked(law, d, delta)
    value, beta = np.ones(n.shape), np.zeros(n.shape)
    for at in np.ndindex(n.shape):
        value[at], beta[at] = _least(law, int(n[at]), delta, tight)
    if d is not None:
        value[n >= d] = 0.0
    return Bound(value, beta)


def _least(law: AngleLaw, n: int, delta: float, tight: bool) -> tuple[float, float]:
    def smallest(beta: np.ndarray) -> tuple[float, float, int]:
        easy, missed = law.p(beta), law.p(RIGHT - delta - beta - ROUNDING) ** n
        total = easy + (1 - easy) * missed if tight else easy + missed
        best = int(np.argmin(total))
        return float(total[best]), float(beta[best]), best

    steps = getattr(law, "steps", None)
    if steps is not None:
        steps = steps[steps <= RIGHT - delta]
        value, beta, _ = smallest(steps if len(steps) else np.zeros(1))
    else:
        top = RIGHT - delta
        # For large n the best β is close to π/2. The distribution has a corner at its widest angle.
        grid = np.concatenate([np.linspace(0, top, GRID), top * (1 - np.geomspace(1e-14, 1, GRID))])
        grid = np.unique(np.append(grid, min(getattr(law, "widest", top), top)))
        value, beta, best = smallest(grid)
        finer = smallest(np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], GRID))
        value, beta = min((value, beta), finer[:2])
    return min(value, 1.0), beta


def positive_integers(n: int | Sequence[int] | np.ndarray) -> Int[np.ndarray, "*n"]:
    """Return numbers of points as an array, after checking that they are positive integers.

    Args:
        n: One number or several.
    """
    n = np.asarray(n)
    if n.dtype.kind not in "iu" or not n.size or (n < 1).any():
        raise UserError(f"expected positive integers (points per transfer set), got n = {n.tolist()!r:.60}")
    return n


def _checked(law: AngleLaw, d: int | None, delta: float) -> None:
    if not hasattr(law, "p"):
        raise UserError(
            f"expected an angle distribution, got {type(law).__name__}: use PolynomialAngles, SphereAngles or "
            "EstimatedAngles.of(X, w)"
        )
    if d is not None and (d != int(d) or d < 1):
        raise UserError(f"expected a positive integer number of dimensions, got d = {d}")
    if not 0 <= delta <= RIGHT:
        raise UserError(f"expected an angle from 0 to π/2, got delta = {delta}")


def delta(epsilon: float, norm: float, *, sharp: bool = False) -> float:
    """The angle δ = √(2πε/‖ŵ‖) of T5 theorem D.4, at most π/2.

    It bounds the angle between ŵ and a student within ε ≤ ‖ŵ‖/2 of it (lemma D.3). The largest possible angle is
    arcsin(ε/‖ŵ‖), which is of first order in ε and therefore much smaller.

    Args:
        epsilon: ε, from 0 to ``norm``/2.
        norm: ‖ŵ‖.
        sharp: If True, return arcsin(ε/‖ŵ‖) instead.

    >>> round(delta(1e-4, 1.0), 4), round(delta(1e-4, 1.0, sharp=True), 4)
    (0.0251, 0.0001)
    """
    if not 0 <= epsilon <= norm / 2:
        raise UserError(f"theorem D.4 requires 0 ≤ ε ≤ ‖ŵ‖/2, got epsilon = {epsilon:g} and ‖ŵ‖ = {norm:g}")
    ratio = epsilon / norm if norm else 0.0
    return math.asin(ratio) if sharp else min(math.sqrt(2 * math.pi * ratio), RIGHT)


@checks_itself("law")
def samples_needed(
    law: AngleLaw, risk: float, *, d: int | None = None, delta: float = 0.0, tight: bool = False
) -> int | None:
    """The smallest n for which the bound is at most ``risk``, or None if 2⁴⁰ points are not enough.

    Args:
        law: The distribution of the angle between an input and the teacher.
        risk: The wanted risk, above 0 and at most 1.
        d: Number of input dimensions. If given, d points are always enough.
        delta: δ, as in ``transfer_bound``.
        tight: If True, use the tighter bound, as in ``transfer_bound``.

    >>> from relulab.subjects.distillation.tools.angle_laws import PolynomialAngles
    >>> samples_needed(PolynomialAngles(kappa=2), 0.01)
    34
    """
    _checked(law, d, delta)
    if not 0 < risk <= 1:
        raise UserError(f"expected a wanted risk above 0 and at most 1, got {risk}")
    most = MOST if d is None else d

    def enough(n: int) -> bool:
        return (d is not None and n >= d) or _least(law, n, delta, tight)[0] <= risk

    high = 1
    while not enough(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2  # the bound decreases with n, so bisection works
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def margin_bound(gamma: float, n: int | np.ndarray) -> Float64[np.ndarray, "*n"]:
    """The bound γⁿ for tasks with p(β) = 0 and γ = p(π/2 − β) < 1 (T5 corollary 5.1).

    Args:
        gamma: γ, the probability of an angle of π/2 − β or more, from 0 to 1.
        n: Points per transfer set, one number or several, each at least 1.

    >>> margin_bound(0.5, 4).item()
    0.0625
    """
    if not 0 <= gamma <= 1:
        raise UserError(f"expected a probability from 0 to 1, got gamma = {gamma}")
    return np.asarray(float(gamma) ** positive_integers(n))


def polynomial_bound(kappa: float, n: int | np.ndarray) -> Float64[np.ndarray, "*n"]:
    """The bound (1 + (log n)^κ)/n^κ for tasks with p(θ) ≤ (1 − 2θ/π)^κ (T5 corollary 5.2).

    Args:
        kappa: The degree κ, at least 0.
        n: Points per transfer set, one number or several, each at least 1.

    >>> polynomial_bound(1, 1).item()
    1.0
    """
    if not kappa >= 0:
        raise UserError(f"expected a degree of 0 or more, got kappa = {kappa}")
    n, kappa = positive_integers(n).astype(float), float(kappa)
    return np.asarray((1 + np.log(n) ** kappa) / n**kappa)
