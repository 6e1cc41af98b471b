r"""LM.T5, a wide student recovers its teacher, and the fan-outs of its other nodes vanish (LM theorem 5, section 8.6).

Let x ~ N(0, I), let all input weights have norm one, and let two-layer students with n > m nodes follow

    ẇ_j = P⊥_{w_j} (Σ_k w*_k d*_jk v_jᵀv*_k − Σ_k w_k d_jk v_jᵀv_k),    v̇_j = Σ_k l*_jk v*_k − Σ_k l_jk v_k.

The u-set consists of one student near each teacher node, at angles θ_j ≤ θ_0, the r-set of all others. If γ > 0 and λ̄
> 0 satisfy the conditions of ``tools/recovery_rate.py``, then at every step t, with a learning rate η that does not
overshoot,

    sin θ_j ≤ c^t sin θ_0 and ‖v_j − v*_j‖ ≤ c^t B_δv in the u-set,   ‖v_j‖ ≤ c^t B_r in the r-set,   c = 1 − η λ̄ γ,

and no w_j of the r-set moves farther than R from its start. The conditions are eqs. 41 to 54 with corrections.
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.terms import NEAR
from relulab.subjects.specialization.tools.followed_students import compared
from relulab.subjects.specialization.tools.gaussian_inputs import gaussian_inputs
from relulab.subjects.specialization.tools.lucky_examples import lucky_pair
from relulab.subjects.specialization.tools.lucky_nodes import LuckyNodes, near_conditions
from relulab.subjects.specialization.tools.lucky_students import LuckyStudents, lucky_students
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.pair_overlap import ACCURACY
from relulab.subjects.specialization.tools.printed_rate import printed_rate
from relulab.subjects.specialization.tools.recovery_rate import (
    Bounds,
    Overlapping,
    Rate,
    largest_eta,
    overlapping,
    rate,
)

FALL = 1e-3  # share of their first values to which the bounds fall within the default number of steps
MOST = 2000  # largest default number of steps
WIDER = (1.0, 1.5, 2.0, 3.0, 5.0)  # multiples of measured values that are tried as bounds
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)  # B_δv that are tried, as shares of b_v
RIGHT = math.pi / 2 - 1e-9  # angles are below a right one
LEAST = 1e-3  # smallest θ_0, in radians, and smallest B_r, as a share of b_v, that are tried


def over_realized_recovery(
    teacher: nn.Module,
    student: nn.Module,
    *,
    std: float = 1.0,
    theta_0: float | None = None,
    B_dv: float | None = None,
    B_r: float | None = None,
    eta: float | None = None,
    steps: int | None = None,
    as_printed: bool = False,
    two_steps: bool = False,
) -> Finding:
    """Solve for γ, follow the dynamics, and compare all students with their bounds at every step.

    Biases of hidden nodes are frozen and enter the overlaps. Each teacher node is given the nearest student of its own.
    Norms of input weights are moved into the fan-outs first, and inputs are scaled to standard deviation 1.

    Args:
        teacher: One two-layer ReLU network.
        student: Another one with the same inputs and outputs, with at least as many hidden nodes. The students that are
            nearest to the teacher nodes have the biases of these nodes.
        std: Standard deviation of the inputs, above 0.
        theta_0: The angle θ_0, above 0 and below π/2. None tries several, from the largest angle at the start.
        B_dv: The bound B_δv, above 0. None tries several, from the largest ‖v_j − v*_j‖ at the start.
        B_r: The bound B_r, above 0. None tries several, from the largest ‖v_j‖ of the r-set at the start.
        eta: Learning rate η, above 0. None takes half of the largest one that the theorem allows.
        steps: Number of steps. None follows the students until the bounds have fallen to 10⁻³ of their first values,
            but not for more than 2,000 steps.
        as_printed: True takes γ from the printed equations, with "γ ≤". This is a negative control.
        two_steps: True lets the exponent of the bounds grow by two in each step, as the printed proof does, from t − 1
            to t + 1. This is a negative control.

    >>> over_realized_recovery(*lucky_pair()).verdict.name
    'HOLDS'
    """
    given = (theta_0, B_dv, B_r, eta)
    if any(one is not None and not 0 < one < math.inf for one in given) or (steps is not None and steps < 1):
        raise UserError(
            f"got theta_0={theta_0}, B_dv={B_dv}, B_r={B_r}, eta={eta} and steps={steps}: expected finite "
            "numbers above 0"
        )
    if theta_0 is not None and not theta_0 < math.pi / 2:
        raise UserError(f"expected an angle below π/2, got theta_0={theta_0}: angles are in radians")
    pair = lucky_students(teacher, student, std)
    start = (*near_conditions(pair.lucky), *_same_outputs(pair))
    if not all(c.holds for c in start) or float(pair.lucky.theta.max()) >= RIGHT:
        return Finding((*start, _starts_near(pair.lucky, min(theta_0 or RIGHT, RIGHT))), ())
    solve = printed_rate if as_printed else rate
    of, bounds, found = max(
        _candidates(pair, theta_0, B_dv, B_r, eta, solve),
        key=lambda one: one[2].eta * max(one[2].lambda_bar, 0) * one[2].gamma if one[2].gamma > 0 else one[2].gamma,
    )
    conditions = (*start, *_conditions(pair, of, bounds, found))
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    contraction = found.contraction ** (2 if two_steps else 1)
    if steps is None:
        steps = min(MOST, math.ceil(math.log(FALL) / math.log(contraction)))
    return Finding(conditions, compared(pair, of, bounds, found, contraction, int(steps)))


def _candidates(
    pair: LuckyStudents, theta_0: float | None, B_dv: float | None, B_r: float | None, eta: float | None, solve
) -> Iterator[tuple[Overlapping, Bounds, Rate]]:
    """Yield choices of θ_0, B_δv and B_r that the start satisfies, each with the γ that they allow."""
    sizes = pair.v_star.norm(dim=1)
    b_v, B_v = float(sizes.min()), float(sizes.max())
    near, far = pair.distances()
    angle = max(float(pair.lucky.theta.max()), LEAST)
    angles = [theta_0] if theta_0 else [angle * wider for wider in WIDER if angle * wider < RIGHT]
    distances = [B_dv] if B_dv else [near, *(b_v * share for share in SHARES if b_v * share > near)]
    others = [B_r] if B_r else [max(far, LEAST * b_v) * wider for wider in WIDER[::2]]
    for one in angles:
        of = overlapping(pair.lucky, one)
        for bounds in (Bounds(b_v, B_v, max(dv, 1e-300), r) for dv in distances for r in others):
            yield of, bounds, solve(of, bounds, largest_eta(of, bounds) / 2 if eta is None else eta)


def _same_outputs(pair: LuckyStudents) -> tuple[Check, ...]:
    smallest = float(pair.v_star.norm(dim=1).min())
    return (
        Check("Teacher and student have the same output biases", pair.shift, "==", 0.0, pair.allowed,
              detail=f"they differ by at most {number(pair.shift)}; up to {number(pair.allowed)} is rounding"),
        Check("No teacher node has a fan-out of zero", smallest, ">=", float(torch.finfo(torch.float64).tiny),
              detail=f"the smallest ‖v*_j‖ is {number(smallest)}"),
    )  # fmt: skip


def _starts_near(lucky: LuckyNodes, theta_0: float) -> Check:
    theta = float(lucky.theta.max())
    says = "Every student of the u-set starts at an angle of at most θ_0 from its teacher node"
    detail = f"the largest angle is {number(theta)} radians, and θ_0 is {number(theta_0)}"
    return Check(says, theta, "<=", theta_0, detail=detail)


def _conditions(pair: LuckyStudents, of: Overlapping, bounds: Bounds, found: Rate) -> tuple[Check, ...]:
    (near, far), tiny, most = pair.distances(), float(torch.finfo(torch.float64).tiny), largest_eta(of, bounds)
    constants = (
        f"K_d, K_l are {number(of.K[0])}, {number(of.K[1])}, ϵ_d, ϵ_l are {number(of.epsilon[0])}, "
        f"{number(of.epsilon[1])}, and C_0 is {number(of.C_0)}"
    )
    gamma = f"γ is {number(found.gamma)}" if math.isfinite(found.gamma) else "there is no such γ"
    return (
        _starts_near(pair.lucky, of.theta_0),
        Check("Every fan-out of the u-set starts within B_δv of its teacher node's", near, "<=", bounds.B_dv,
              detail=f"the largest ‖v_j − v*_j‖ is {number(near)}, and B_δv is {number(bounds.B_dv)}"),
        Check("Every fan-out of the r-set starts with a norm of at most B_r", far, "<=", bounds.B_r,
              detail=f"the largest ‖v_j‖ is {number(far)}, and B_r is {number(bounds.B_r)}"),
        Check("The conditions on γ have a positive solution", found.gamma, ">=", tiny, ACCURACY,
              detail=f"{gamma}; {constants}"),
        Check("The lower bound λ̄ of overlaps with the own teacher node is positive", found.lambda_bar, ">=", tiny,
              ACCURACY * abs(found.lambda_bar), detail=f"λ̄ is {number(found.lambda_bar)}"),
        Check("The learning rate η does not overshoot", found.eta * (1 - ACCURACY), "<=", most,
              detail=f"η is {number(found.eta)}, and the largest one is {number(most)}"),
    )  # fmt: skip


def of_networks(
    teacher: nn.Module,
    student: nn.Module,
    x: Float[Tensor, "N d"],
    *,
    theta_0: float | None = None,
    B_dv: float | None = None,
    B_r: float | None = None,
    eta: float | None = None,
    steps: int | None = None,
) -> Finding:
    """Check the theorem for a student at its start, for inputs with the standard deviation of the points.

    Args:
        teacher: One two-layer ReLU network.
        student: Another one with the same inputs and outputs.
        x: Points, (N, d), which must be a sample of N(0, σ² I).
        theta_0: The angle θ_0; by default the best of several.
        B_dv: The bound B_δv; by default the best of several.
        B_r: The bound B_r; by default the best of several.
        eta: Learning rate η; by default half of the largest one that is allowed.
        steps: Number of steps; by default until the bounds are small.
    """
    std, gaussian = gaussian_inputs(x, lowest(teacher).w)
    options = {"theta_0": theta_0, "B_dv": B_dv, "B_r": B_r, "eta": eta, "steps": steps}
    finding = over_realized_recovery(teacher, student, std=std, **options)
    return Finding((*gaussian, *finding.conditions), finding.conclusion)


THEOREM = Theorem(
    id="LM.T5",
    title="A wide student recovers its teacher, and its other fan-outs vanish",
    statement="Let inputs be N(0, I), and let a two-layer student with weights w_j of norm one and fan-outs v_j "
    "follow the mean gradient, projected by P⊥. If each teacher node has a student at an angle of at most θ_0 (the "
    "u-set), and the conditions on γ hold, then in step t all sin θ_j and ‖v_j − v*_j‖ of the u-set and all ‖v_j‖ of "
    "the other students (the r-set) are at most c^t times their bounds at the start, with c = 1 − η λ̄ γ.",
    symbols={
        **NEAR,
        "v_j": "fan-out of student j",
        "v*_j": "fan-out of teacher node j",
        "γ": "how much of its own pull a node is left with, at least; solved from eqs. 41 and 42, corrected",
        "λ̄": "lower bound of how much a student overlaps with its own teacher node, at all steps",
        "c": "factor by which the bounds fall in a step, 1 − η λ̄ γ",
        "t": "number of the step",
        "B_δv": "bound on ‖v_j − v*_j‖ in the u-set at the start",
        "B_r": "bound on ‖v_j‖ in the r-set at the start",
        "R": "bound on how far a w_j of the r-set moves",
        "K_l": "as K_d, for the mean product of the activations",
        "ϵ_l": "as ϵ_d, for the mean product of the activations",
        "C_0": "constant of LM lemma 4 (LM.L4)",
        "N(0, I)": "normal distribution with independent coordinates of standard deviation 1",
        "P⊥": "projection that removes the component along w_j",
    },
    in_print="Besides signs and indices, the conditions need changes. In eqs. 41 and 42, γ is bounded from above. In "
    "eq. 41, the pull is quadratic in the fan-outs and needs their smallest norm, not the largest. The pushes of the "
    "r-set and of v_j − v*_j do not vanish with θ_j, so they appear divided by sin θ_0, and in eq. 42 divided by "
    "B_δv. Eq. 64 drops the push of v_j − v*_j, and has a factor ‖w_j − w*_j‖ for the r-set that does not belong "
    "there. The theorem states the dynamics without the projection P⊥ that the proof uses. One exponent jumps from t "
    "− 1 to t + 1. The printed conditions, even with γ bounded from above, and the jump are the negative controls. "
    "Strongly negative biases, or nodes that point away from each other, are needed: without them, the conditions "
    "have no solution.",
    source="LM theorem 5, sections 3.3 and 8.6, eqs. 41 to 70",
    check=over_realized_recovery,
    on={TeacherStudent: of_networks},
    variants=("as_printed", "two_steps"),
    demonstrations=(
        Demonstration("Three teacher nodes, six students, all orthogonal with bias −4", Verdict.HOLDS,
                      lambda: over_realized_recovery(*lucky_pair())),
        Demonstration("Two teacher nodes, three students, at 120° in the plane with bias −3", Verdict.HOLDS,
                      lambda: over_realized_recovery(*lucky_pair(-3.0, 2, 1, spread=False))),
        Demonstration("The first case without biases, where the conditions have no solution", Verdict.NOT_APPLICABLE,
                      lambda: over_realized_recovery(*lucky_pair(0.0))),
        Demonstration("Negative control: the printed conditions, with fan-outs of norm 0.05 and θ_0 = 10⁻⁴",
                      Verdict.REFUTED,
                      lambda: over_realized_recovery(*lucky_pair(-3.0, 2, 1, 1e-4, fan_out=0.05, spread=False),
                                                     theta_0=1.01e-4, as_printed=True)),
        Demonstration("Negative control: exponents that grow by two in each step", Verdict.REFUTED,
                      lambda: over_realized_recovery(*lucky_pair(), two_steps=True)),
    ),
)  # fmt: skip
