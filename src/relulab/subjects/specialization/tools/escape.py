r"""How long a student takes to turn away from the direction opposite to its teacher (S0 section 5.3).

One teacher node w*, one student w, inputs N(0, I), both fan-outs 1. The mean gradient flow is, by theorem 6 put right,

    ẇ = g(w) = E[x z (f* − f)] = (1/2π) [(π − θ) w* + ‖w*‖ sin θ · w̄] − w/2.

Three flows of it, each with its own θ̇, where ‖w*‖ = 1 and φ = π − θ:

- ``gradient``: ẇ = g, θ̇ = −φ sin φ / (2π‖w‖). Near φ = 0 there is no push, so ‖w‖ shrinks as e^(−t/2), and the shorter
  w is, the faster it turns. ‖w‖ (sin φ)/φ falls exactly as e^(−t/2), which gives cot φ(0) − cot φ(t) =
  (e^(t/2) − 1) φ(0) / (π‖w(0)‖ sin φ(0)): from φ(0) = ϵ to π/2 it takes 2 ln(1 + π‖w(0)‖ cos ϵ / ϵ).
- ``printed``: ẇ = ‖w‖ g, as theorem 6 is printed and eq. 8 has it; θ̇ = −φ sin φ / 2π, a time of about 2π/ϵ.
- ``fixed norm``: the part of g across w, which is what normalized weights feel; about 2π‖w‖/ϵ.
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
    """g of each row, as if it were alone."""
    star = torch.from_numpy(w_star)
    return np.stack([closed_form(w, star).numpy() for w in torch.from_numpy(W)]) - W / 2


def printed(w_star: Vector, W: Weights) -> Weights:
    return norms(W)[:, None] * gradient(w_star, W)


def fixed_norm(w_star: Vector, W: Weights) -> Weights:
    g, u = gradient(w_star, W), W / norms(W)[:, None]
    return g - (g * u).sum(1, keepdims=True) * u


FLOWS = {"printed": printed, "fixed norm": fixed_norm, "gradient": gradient}


def escape_time(kind: str, w: Vector, w_star: Vector, theta_0: float, *, rtol: float = 1e-10) -> float:
    """The time from w to the angle ``theta_0`` with w*, NaN when a thousand times what 1/ϵ would take is too short.

    >>> round(escape_time("gradient", np.array([-1.0, 1e-3]), np.array([1.0, 0.0]), np.pi / 2), 3)
    16.106
    """
    if kind not in FLOWS:
        raise UserError(f"no flow {kind!r}: {nearest(kind, FLOWS)}")
    epsilon = np.pi - float(angles(w[None], w_star)[0])
    if not 0 < epsilon < np.pi - theta_0 < np.pi:
        raise UserError(
            f"from the angle {np.pi - epsilon:.6g} to {theta_0:.6g}: expected were a start between the end and "
            "π and an end above 0"
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
