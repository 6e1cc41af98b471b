r"""Time that a student takes to turn away from the direction opposite to its teacher (S0 section 5.3).

One teacher node w*, one student w, inputs N(0, I), both output weights 1. By the corrected theorem 6, the mean gradient
flow is

    ẇ = g(w) = E[x z (f* − f)] = (1/2π) [(π − θ) w* + ‖w*‖ sin θ · w̄] − w/2.

Three flows are compared, with ‖w*‖ = 1 and φ = π − θ:

- ``gradient``: ẇ = g, θ̇ = −φ sin φ / (2π‖w‖). Near φ = 0 there is no push, so ‖w‖ shrinks as e^{−t/2}, and the shorter
  w is, the faster it turns. ‖w‖ (sin φ)/φ decreases exactly as e^{−t/2}, which gives cot φ(0) − cot φ(t) =
  (e^{t/2} − 1) φ(0) / (π‖w(0)‖ sin φ(0)). From φ(0) = ϵ to π/2 it takes the time 2 ln(1 + π‖w(0)‖ cos ϵ / ϵ).
- ``printed``: ẇ = ‖w‖ g, as in theorem 6 as printed and in eq. 8. θ̇ = −φ sin φ / 2π, and the time is about 2π/ϵ.
- ``fixed norm``: the component of g orthogonal to w, as for normalized weights. The time is about 2π‖w‖/ϵ.
"""

from functools import partial

import numpy as np
import torch
from jaxtyping import Float

from relulab.core.angle import angles, norms
from relulab.core.errors import UserError, nearest
from relulab.flow.adaptive import Weights, flow
from relulab.subjects.specialization.theorems.spherical_push import closed_form

Vector = Float[np.ndarray, " d"]


def gradient(w_star: Vector, W: Weights) -> Weights:
    """g of each row of W, each treated as the only student.

    Args:
        w_star: The teacher w*, (d,).
        W: Weights of the students, (n, d).
    """
    star = torch.from_numpy(w_star)
    return np.stack([closed_form(w, star).numpy() for w in torch.from_numpy(W)]) - W / 2


def printed(w_star: Vector, W: Weights) -> Weights:
    """‖w‖ g of each row of W.

    Args:
        w_star: The teacher w*, (d,).
        W: Weights of the students, (n, d).
    """
    return norms(W)[:, None] * gradient(w_star, W)


def fixed_norm(w_star: Vector, W: Weights) -> Weights:
    """The component of g orthogonal to w, for each row w of W.

    Args:
        w_star: The teacher w*, (d,).
        W: Weights of the students, (n, d).
    """
    g, u = gradient(w_star, W), W / norms(W)[:, None]
    return g - (g * u).sum(1, keepdims=True) * u


FLOWS = {"printed": printed, "fixed norm": fixed_norm, "gradient": gradient}


def escape_time(kind: str, w: Vector, w_star: Vector, theta_0: float, *, rtol: float = 1e-10) -> float:
    """Time that a flow takes from w to the angle ``theta_0`` with w*. NaN after 1,000 (1 + ‖w‖)/(ϵ‖w*‖).

    Args:
        kind: "gradient", "printed" or "fixed norm".
        w: Weights of the student at the start, (d,), at an angle π − ϵ with w*.
        w_star: The teacher w*, (d,).
        theta_0: Angle at the end, above 0 and below the angle at the start.
        rtol: Relative tolerance of the solver.

    >>> round(escape_time("gradient", np.array([-1.0, 1e-3]), np.array([1.0, 0.0]), np.pi / 2), 3)
    16.106
    """
    if kind not in FLOWS:
        raise UserError(f"unknown flow {kind!r}: {nearest(kind, FLOWS)}")
    epsilon = np.pi - float(angles(w[None], w_star)[0])
    if not 0 < epsilon < np.pi - theta_0 < np.pi:
        raise UserError(
            f"got angles from {np.pi - epsilon:.6g} to {theta_0:.6g}: expected a start between the end and π, and an "
            "end above 0"
        )
    longest = 1e3 * (1 + float(np.linalg.norm(w))) / (epsilon * float(np.linalg.norm(w_star)))
    path = flow(
        partial(FLOWS[kind], w_star),
        w[None],
        longest,
        rtol=rtol,
        until=lambda W: float(angles(W, w_star)[0]) - theta_0,
    )
    return float(path.times[-1]) if path.reached else float("nan")
