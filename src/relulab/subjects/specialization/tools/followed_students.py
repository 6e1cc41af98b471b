"""Two-layer students that follow their dynamics, compared with the bounds of LM theorem 5 at every step."""

import math

import torch

from relulab.lab.show.words import number
from relulab.lab.theorem import Check
from relulab.subjects.specialization.tools.lucky_students import LuckyStudents
from relulab.subjects.specialization.tools.pair_overlap import ACCURACY
from relulab.subjects.specialization.tools.projected_dynamics import two_layer_dynamics
from relulab.subjects.specialization.tools.recovery_rate import Bounds, Overlapping, Rate


def compared(
    pair: LuckyStudents, of: Overlapping, bounds: Bounds, found: Rate, contraction: float, steps: int
) -> tuple[Check, ...]:
    """Follow the students, and compare them with their bounds at every step.

    Args:
        pair: The students and their teacher nodes.
        of: Constants of the overlaps.
        bounds: Bounds on the fan-outs.
        found: The rate and the learning rate.
        contraction: Factor by which the bounds fall in a step.
        steps: Number of steps.
    """
    m, first = pair.lucky.m, pair.lucky.u
    names = {
        "sin θ_j": ("sin θ_j ≤ c^t sin θ_0 in the u-set", math.sin(of.theta_0)),
        "‖v_j − v*_j‖": ("‖v_j − v*_j‖ ≤ c^t B_δv in the u-set", bounds.B_dv),
    }
    if len(first) > m:
        names["‖v_j‖"] = ("‖v_j‖ ≤ c^t B_r in the r-set", bounds.B_r)
    ratios, moved, own = {name: [] for name in names}, 0.0, math.inf
    for t, state in enumerate(two_layer_dynamics(pair.lucky, pair.v_star, pair.v, found.eta, steps)):
        sizes = {
            "sin θ_j": pair.lucky._replace(u=state.u).theta.sin(),
            "‖v_j − v*_j‖": (state.v[:m] - pair.v_star).norm(dim=1),
            "‖v_j‖": state.v[m:].norm(dim=1),
        }
        for name, (_, bound) in names.items():
            ratios[name].append(float(sizes[name].max()) / (contraction**t * bound))
        moved = max(moved, float((state.u - first)[m:].norm(dim=1).max())) if len(first) > m else 0.0
        own = min(own, float(state.to_star.D.diagonal()[:m].min()), float(state.to_star.L.diagonal().min()))
    checks = [
        _under(name, says, ratios[name], bound, contraction, steps, len(first.T))
        for name, (says, bound) in names.items()
    ]
    own /= found.lambda_bar
    says = "At every step, overlaps with the own teacher node are at least λ̄"
    checks.append(Check(says, own, ">=", 1.0, ACCURACY, detail=f"the smallest is {number(own)} λ̄"))
    if len(first) > m:
        rounding = 8 * torch.finfo(torch.float64).eps * (steps + 1)
        checks.append(Check("No w_j of the r-set moves farther than R", moved, "<=", found.R, rounding, 0.1 * found.R,
                            f"the farthest moves by {number(moved)}, and R is {number(found.R)}"))  # fmt: skip
    return tuple(checks)


def _under(
    name: str, says: str, ratios: list[float], bound: float, contraction: float, steps: int, d: int
) -> Check:  # fmt: skip
    """Check that a size is below its bound at all steps after the start, at which it is a condition."""
    t = max(range(1, steps + 1), key=ratios.__getitem__)
    rounding = 8 * torch.finfo(torch.float64).eps * d * (t + 1) / (contraction**t * min(bound, 1.0))
    detail = f"the largest {name} is {number(ratios[t])} of its bound, at step {t:,} of {steps:,}"
    return Check(f"At every step t, {says}", ratios[t], "<=", 1.0, rounding, 0.01, detail)
