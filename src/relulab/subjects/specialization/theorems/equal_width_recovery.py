r"""LM.T4, a student as wide as its teacher recovers it (LM theorem 4, section 8.5).

Let x ~ N(0, I), all weights have norm one, and d_jk = ψ_d(w_j, w_k) (LM eq. 7). Students j = 1, …, m start at angles
θ_j ≤ θ_0 from teacher nodes j and follow, with a uniform signal from above (β = β* = 11ᵀ),

    ẇ_j = P⊥_{w_j} (Σ_k w*_k d*_jk − Σ_k w_k d_jk).

With K_d of assumption 2, ϵ_d of assumption 3 and M_d = (1 + K_d) (1 + 2 K_d sin(θ_0/2))² / cos(θ_0/2), let

    γ = cos θ_0 − (m − 1) ϵ_d M_d,    d̄ = (1 − 2 K_d sin(θ_0/2)) min_j d*_jj(0).

If γ > 0 and d̄ > 0, then at step t with learning rate η ≤ 1/max_j d_jj,

    sin θ_j ≤ (1 − η d̄ γ)^t sin θ_0   for all j,

because d*_jj ≥ d̄ as long as θ_j ≤ θ_0. The printed d̄ has 1 + 2 K_d sin(θ_0/2). This is no lower bound of d*_jj: the
students turn faster in print than they can. It is the negative control.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.instruments.overlap_constants import lipschitz_constants
from relulab.subjects.specialization.instruments.overlap_ratios import overlap_ratios
from relulab.subjects.specialization.terms import NEAR
from relulab.subjects.specialization.tools.gaussian_inputs import gaussian_inputs
from relulab.subjects.specialization.tools.lucky_examples import near_nodes
from relulab.subjects.specialization.tools.lucky_nodes import LuckyNodes, lucky_nodes, near_conditions
from relulab.subjects.specialization.tools.nodes import Nodes, lowest
from relulab.subjects.specialization.tools.pair_overlap import ACCURACY, share_below
from relulab.subjects.specialization.tools.projected_dynamics import uniform_dynamics

FALL = 1e-6  # share of its first value to which the bound falls within the default number of steps
MOST = 2000  # largest default number of steps


@dataclass(frozen=True)
class _Rate:
    """The constants of the theorem."""

    K_d: float
    epsilon_d: float
    gamma: float
    d_bar: float
    eta_most: float


def equal_width_recovery(
    star: Nodes,
    nodes: Nodes,
    *,
    std: float = 1.0,
    theta_0: float | None = None,
    eta: float | None = None,
    steps: int | None = None,
    as_printed: bool = False,
) -> Finding:
    """Follow the dynamics, and compare sin θ_j with the bound at every step, for inputs from N(0, std² I).

    Biases are frozen. They shift the boundaries, so they enter ψ_d, which is computed with them. Inputs are scaled to
    standard deviation 1, and weights to norm one.

    Args:
        star: Teacher nodes, for instance ``lowest(teacher)``, with weights (m, d) and biases (m,).
        nodes: As many students, with weights (m, d) and the biases of the teacher nodes, in any order.
        std: Standard deviation of the inputs, above 0.
        theta_0: The angle θ_0, above 0 and below π/2. None takes the largest angle at the start.
        eta: Learning rate η, above 0. None takes half of the largest one that the theorem allows.
        steps: Number of steps. None follows the students until the bound has fallen to 10⁻⁶ of its first value, but
            not for more than 2,000 steps.
        as_printed: True takes the printed d̄, which is wrong. This is the negative control.

    >>> star = Nodes(torch.eye(3).double(), torch.full((3,), -2.5).double())
    >>> near = Nodes(star.w + 0.01 * star.w.roll(1, 0), star.b * math.sqrt(1.0001))
    >>> equal_width_recovery(star, near).verdict.name
    'HOLDS'
    """
    if (eta is not None and not 0 < eta < math.inf) or (steps is not None and steps < 1):
        raise UserError(f"expected a learning rate above 0 and at least one step, got eta={eta} and steps={steps}")
    lucky = lucky_nodes(star, nodes, std)
    wide = Check("The student is as wide as its teacher", len(lucky.u), "==", lucky.m,
                 detail=f"it has {len(lucky.u):,} nodes and the teacher {lucky.m:,}")  # fmt: skip
    near = near_conditions(lucky)
    if not (wide.holds and all(c.holds for c in near)):
        return Finding((wide, *near), ())
    angle = float(lucky.theta.max()) if theta_0 is None else float(theta_0)
    if not angle < math.pi / 2:
        return Finding((wide, *near, _below(angle, math.pi / 2, "π/2")), ())
    rate = _rate(lucky, angle, as_printed)
    eta = rate.eta_most / 2 if eta is None else float(eta)
    conditions = (wide, *near, *_conditions(lucky, angle, rate, eta))
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    contraction = 1 - eta * rate.d_bar * rate.gamma
    if steps is None:
        steps = min(MOST, math.ceil(math.log(FALL) / math.log(contraction)))
    return Finding(conditions, _conclusion(lucky, angle, rate, eta, contraction, steps))


def _rate(lucky: LuckyNodes, theta_0: float, as_printed: bool) -> _Rate:
    K_d = float(lipschitz_constants(lucky.nodes, theta_0).K_d)
    epsilon_d = float(overlap_ratios(lucky.nodes).epsilon_d)
    turn = 2 * K_d * math.sin(theta_0 / 2)
    M_d = (1 + K_d) * (1 + turn) ** 2 / math.cos(theta_0 / 2)
    gamma = math.cos(theta_0) - ((lucky.m - 1) * epsilon_d * M_d if lucky.m > 1 else 0.0)
    start = next(uniform_dynamics(lucky, 0.0, 0)).to_star.D.diagonal()
    d_bar = (1 + turn if as_printed else 1 - turn) * float(start.min())
    return _Rate(K_d, epsilon_d, gamma, d_bar, 1 / float(share_below(lucky.b).max()))


def _below(angle: float, largest: float, name: str) -> Check:
    return Check(f"The angle θ_0 is below {name}", angle, "<=", largest, detail=f"it is {number(angle)} radians")


def _conditions(lucky: LuckyNodes, theta_0: float, rate: _Rate, eta: float) -> tuple[Check, ...]:
    theta = float(lucky.theta.max())
    tiny = float(torch.finfo(torch.float64).tiny)
    constants = f"K_d is {number(rate.K_d)} and ϵ_d is {number(rate.epsilon_d)}"
    return (
        Check("Every student starts at an angle of at most θ_0 from its teacher node", theta, "<=", theta_0,
              detail=f"the largest angle is {number(theta)} radians, and θ_0 is {number(theta_0)}"),
        Check("The rate γ = cos θ_0 − (m − 1) ϵ_d M_d is positive", rate.gamma, ">=", tiny, ACCURACY,
              detail=f"γ is {number(rate.gamma)}; {constants}"),
        Check("The lower bound d̄ is positive", rate.d_bar, ">=", tiny, ACCURACY * abs(rate.d_bar),
              detail=f"d̄ is {number(rate.d_bar)}"),
        Check("The learning rate η is at most 1/max d_jj", eta * (1 - ACCURACY), "<=", rate.eta_most,
              detail=f"η is {number(eta)}, and 1/max d_jj is {number(rate.eta_most)}"),
    )  # fmt: skip


def _conclusion(
    lucky: LuckyNodes, theta_0: float, rate: _Rate, eta: float, contraction: float, steps: int
) -> tuple[Check, ...]:
    own, ratios, eps = [], [], torch.finfo(torch.float64).eps
    for t, state in enumerate(uniform_dynamics(lucky, eta, steps)):
        own.append(float(state.to_star.D.diagonal().min()) / rate.d_bar)
        sine = float(lucky._replace(u=state.u).theta.max().sin())
        ratios.append(sine / (contraction**t * math.sin(theta_0)))
    t = max(range(1, steps + 1), key=ratios.__getitem__)
    # an angle is accurate to a few roundings of numbers near 1, in every step
    rounding = 8 * eps * len(lucky.u.T) * (t + 1) / (contraction**t * math.sin(theta_0))
    return (
        Check("At every step, d*_jj ≥ d̄ for all nodes", min(own), ">=", 1.0, ACCURACY,
              detail=f"the smallest d*_jj is {number(min(own))} d̄, over {steps:,} steps"),
        Check("At every step t, sin θ_j ≤ (1 − η d̄ γ)^t sin θ_0 for all nodes", ratios[t], "<=", 1.0, rounding, 0.01,
              f"the largest sin θ_j is {number(ratios[t])} of the bound, at step {t:,} of {steps:,}"),
    )  # fmt: skip


def of_networks(
    teacher: nn.Module,
    student: nn.Module,
    x: Float[Tensor, "N d"],
    *,
    theta_0: float | None = None,
    eta: float | None = None,
    steps: int | None = None,
) -> Finding:
    """Check the nodes of the lowest layers, for inputs with the standard deviation of the points.

    Args:
        teacher: One network of Linear and ReLU layers.
        student: Another one with the same inputs.
        x: Points, (N, d), which must be a sample of N(0, σ² I).
        theta_0: The angle θ_0; by default the largest one at the start.
        eta: Learning rate η; by default half of the largest one that is allowed.
        steps: Number of steps; by default until the bound is small.
    """
    star, nodes = lowest(teacher), lowest(student)
    std, gaussian = gaussian_inputs(x, star.w)
    finding = equal_width_recovery(star, nodes, std=std, theta_0=theta_0, eta=eta, steps=steps)
    return Finding((*gaussian, *finding.conditions), finding.conclusion)


def _case(m: int = 4, bias: float = -2.5, angle: float = 0.02, **options) -> Finding:
    return equal_width_recovery(*near_nodes(m, bias=bias, angle=angle), **options)


THEOREM = Theorem(
    id="LM.T4",
    title="A student as wide as its teacher recovers it",
    statement="Let inputs be N(0, I) and let students follow ẇ_j = P⊥ (Σ_k w*_k d*_jk − Σ_k w_k d_jk), starting at "
    "angles θ_j ≤ θ_0 from their teacher nodes. If γ = cos θ_0 − (m − 1) ϵ_d M_d > 0, then sin θ_j ≤ (1 − η d̄ γ)^t "
    "sin θ_0 at every step t, with d̄ = (1 − 2 K_d sin(θ_0/2)) min d*_jj.",
    symbols={
        **NEAR,
        "γ": "how much of the pull of its own teacher node a student is left with, at least",
        "M_d": "(1 + K_d) (1 + 2 K_d sin(θ_0/2))² / cos(θ_0/2)",
        "d̄": "lower bound of d*_jj at all steps; in the formula, min d*_jj is taken at the start",
        "N(0, I)": "normal distribution with independent coordinates of standard deviation 1",
        "ẇ_j": "time derivative of w_j; a step adds η ẇ_j and scales w_j to norm one",
        "P⊥": "projection that removes the component along w_j",
        "t": "number of the step",
    },
    in_print="The printed d̄ has 1 + 2 K_d sin(θ_0/2), which makes it too large: without biases and with θ_0 = 0.3, "
    "it is 0.4998, and d*_jj is 0.452. It is the negative control. A minus, as in eq. 43, makes it a lower bound. "
    "The rate also needs η ≤ 1/max d_jj, and weights scaled to norm one after every step, which the text calls small "
    "η. Eq. 26 names the turn of the wrong node.",
    source="LM theorem 4, sections 3.2 and 8.5",
    check=equal_width_recovery,
    on={TeacherStudent: of_networks},
    variants=("as_printed",),
    demonstrations=(
        Demonstration("Four orthogonal nodes with bias −2.5, θ_0 = 0.02", Verdict.HOLDS, _case),
        Demonstration("Two orthogonal nodes without biases", Verdict.HOLDS, lambda: _case(2, 0.0, 0.02)),
        Demonstration(
            "Three orthogonal nodes without biases, where γ is negative",
            Verdict.NOT_APPLICABLE,
            lambda: _case(3, 0.0, 0.001),
        ),
        Demonstration(
            "The first case with twice the largest learning rate",
            Verdict.NOT_APPLICABLE,
            lambda: _case(eta=2 / float(share_below(torch.tensor(-2.5).double()))),
        ),
        Demonstration(
            "Negative control: the printed d̄, with three nodes and bias −4",
            Verdict.REFUTED,
            lambda: _case(3, -4.0, as_printed=True),
        ),
    ),
)
