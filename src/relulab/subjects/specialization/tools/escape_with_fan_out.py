r"""Time that a student takes to turn toward its teacher if its fan-out v is trained as well (S0 section 5.3).

The student is v σ(wᵀx), the teacher σ(w*ᵀx) with ‖w*‖ = 1, and inputs are N(0, I). With φ = π − θ, r = ‖w‖ and the
radial push p(φ) = (sin φ − φ cos φ)/2π, which is about φ³/6π near φ = 0, the mean gradient flow is

    ṙ = v (p − v r/2),    φ̇ = v φ sin φ/(2π r),    v̇ = r (p − v r/2),

and v² − r² does not change. Its sign decides how the student leaves the direction φ = ϵ:

- v > r: r shrinks toward 0 while v does not, so the turn speeds up, and the time grows as ln(1/ϵ).
- v = r (balanced): φ̇ = φ sin φ/2π as in the flow of eq. 8, and the time is about 2π/ϵ.
- v < r: v shrinks until v r/2 = p, about φ³/6π, while r does not shrink to 0. Then φ̇ is about φ⁵/(6π² r²), and the time
  about 3π² (r² − v²)/(2ϵ⁴) with r and v at the start: the student is nearly switched off before it turns.

φ only increases, so it takes the place of the time, which is then an integral. The path is followed in the logarithm of
the smaller one of r and v; the other one is computed from v² − r².
"""

import numpy as np
from scipy.integrate import solve_ivp

from relulab.core.errors import UserError

TURN = 2 * np.pi
SHORT, LITTLE = 1e-6, 0.1  # shares of the time and of 1/φ in which v falls to its equilibrium


def escape_time_with_fan_out(
    norm: float, fan_out: float, epsilon: float, theta_0: float = np.pi / 2, *, rtol: float = 1e-7
) -> float:
    """Time that gradient flow of w and v takes from the angle π − ϵ to the angle ``theta_0``.

    Args:
        norm: ‖w‖ at the start, in units of ‖w*‖.
        fan_out: v at the start, in units of the teacher's; both must be positive.
        epsilon: ϵ, above 0 and below π − ``theta_0``.
        theta_0: Angle at the end.
        rtol: Relative tolerance of the solver.

    >>> [round(escape_time_with_fan_out(1.0, 1.0, epsilon)) for epsilon in (0.1, 0.01)]
    [61, 626]
    """
    if not (norm > 0 and fan_out > 0 and 0 < epsilon < np.pi - theta_0 < np.pi):
        raise UserError(
            f"got a norm of {norm:g}, a fan-out of {fan_out:g}, and an angle of π − {epsilon:g} to turn to "
            f"{theta_0:.4g}: expected positive numbers, and a start between the end and π"
        )
    c = (fan_out - norm) * (fan_out + norm)  # v² − r²
    smaller = min(norm, fan_out)
    turn = epsilon * fan_out / (np.pi * abs(c) * norm) if c else np.inf
    if c < 0 and radial_push(epsilon) < SHORT * fan_out * np.sqrt(-c) and turn < LITTLE:
        # v falls to its equilibrium in a small share of the time. Without p, 1/φ falls by ∫ v/(2πr) dt meanwhile.
        epsilon /= 1 - turn
        smaller = 2 * radial_push(epsilon) / np.sqrt(-c)

    def slope(log_phi: float, state: np.ndarray) -> list[float]:
        phi, least = np.exp(log_phi), smaller * np.exp(state[0])
        most = np.sqrt(least**2 + abs(c))
        r, v = (least, most) if c >= 0 else (most, least)
        gap = radial_push(phi) - v * r / 2
        growth = TURN * gap / np.sin(phi) * (1.0 if c >= 0 else (r / v) ** 2)
        return [growth, TURN * r / (v * np.sin(phi))]

    start, end = np.log(epsilon), np.log(np.pi - theta_0)
    atol = [rtol, 1e-6 * rtol * slope(start, np.zeros(2))[1]]
    # Radau, because for v < r the flow is stiff: v stays at its equilibrium.
    solution = solve_ivp(slope, (start, end), [0.0, 0.0], "Radau", rtol=rtol, atol=atol)
    return float(solution.y[1, -1]) if solution.success else float("nan")


def radial_push(phi: float) -> float:
    """p(φ) = (sin φ − φ cos φ)/2π, by its series where the two terms cancel.

    Args:
        phi: φ, in radians.

    >>> round(radial_push(np.pi) * 2, 12)
    1.0
    """
    if phi < 0.03:
        return phi**3 / (6 * np.pi) * (1 - phi**2 / 10 + phi**4 / 280)
    return float(np.sin(phi) - phi * np.cos(phi)) / TURN
