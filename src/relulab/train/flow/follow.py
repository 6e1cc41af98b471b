r"""Gradient flow followed on the logarithm of the loss, by steps of one size relative to what they change.

Along θ̇ = −∇ℓ(θ) the clock s with ds = ℓ dt gives dθ/ds = −∇ log ℓ(θ): the same path, but late in training, where ℓ
falls like 1/t and directions settle like 1/log t, the loss falls by equal factors in equal steps. log ℓ is summed from
log ℓ_i and never leaves the number range, so the path may be followed to losses such as e^(−10⁵).

A step h of the midpoint rule is as long as two bounds allow, with one number ``step`` for both: no weight changes by
more than about that share of its size (early, when loss hardly falls), and log ℓ falls by no more than that (late).
Halving ``step`` shows what it has left to say.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

State = TypeVar("State")
DENSE = 50  # steps at the start of which every one is looked at


class Pull(NamedTuple):
    """−∇ log ℓ at a state, in the form its dynamics can step along, with what the length of a step needs to know."""

    along: tuple[Tensor, ...]
    log_loss: Float64[Tensor, " lane"]
    speed: Float64[Tensor, " lane"]
    """largest relative rate at which a weight changes"""
    square: Float64[Tensor, " lane"]
    """‖∇ log ℓ‖², the rate at which log ℓ falls"""


@runtime_checkable
class Dynamics(Protocol[State]):
    """What is followed: where it pulls, and where a step of length h along a pull leads."""

    def pull(self, state: State) -> Pull: ...
    def moved(self, state: State, along: tuple[Tensor, ...], h: Float64[Tensor, " lane"]) -> State: ...


class Clock(NamedTuple):
    """Where on the path every lane is: steps taken, s = ∫ ℓ dt, log t and log ℓ."""

    steps: int
    s: Float64[Tensor, " lane"]
    log_t: Float64[Tensor, " lane"]
    log_loss: Float64[Tensor, " lane"]

    @classmethod
    def start(cls, lanes: int) -> "Clock":
        zero = torch.zeros(lanes, dtype=torch.float64)
        return cls(0, zero, zero - math.inf, zero)


def follow(
    dynamics: Dynamics[State],
    state: State,
    clock: Clock,
    *,
    until: float,
    step: float,
    steps: int,
    look: Callable[[State, Clock], bool],
) -> tuple[State, Clock, bool]:
    """Follows all lanes until ℓ ≤ e^(−until) in each, ``steps`` in all are used up, or ``look`` says that it is enough.

    ``look`` is called at the start, at the end and, in between, at each of the first 50 steps, then whenever 5 % more
    steps are done. A lane that has arrived, or whose gradient is zero, waits for the others. The last of what is
    returned tells whether ``look`` ended it.
    """
    due = clock.steps
    while True:
        pull = dynamics.pull(state)
        clock = clock._replace(log_loss=pull.log_loss)
        moving = (-pull.log_loss < until) & (pull.square > 0)
        end = clock.steps >= steps or not moving.any()
        if clock.steps >= due or end:
            due = clock.steps + (1 if clock.steps < DENSE else math.ceil(0.05 * clock.steps))
            if look(state, clock):
                return state, clock, True
        if end:
            return state, clock, False
        h = torch.where(moving, step / torch.maximum(pull.speed, pull.square), 0.0)
        middle = dynamics.pull(dynamics.moved(state, pull.along, h / 2))
        state = dynamics.moved(state, middle.along, h)
        # dt = ds/ℓ, with the loss of the middle
        log_t = torch.logaddexp(clock.log_t, h.log() - middle.log_loss)
        clock = Clock(clock.steps + 1, clock.s + h, log_t, pull.log_loss)


def log_cross_entropy(
    m: Float64[Tensor, "lane n"],
) -> tuple[Float64[Tensor, " lane"], Float64[Tensor, "lane n"]]:
    """log ℓ for ℓ = Σ log(1 + exp(−m_i)) over margins m_i = y_i f(x_i), and p_i = −∂ log ℓ/∂m_i, which sum to ≤ 1.

    >>> log_loss, p = log_cross_entropy(torch.tensor([[2000.0, 2000.0]], dtype=torch.float64))
    >>> round(float(log_loss) + 2000, 6), p.tolist()
    (0.693147, [[0.5, 0.5]])
    """
    # beyond 40, log(1 + e^(−m)) is e^(−m) to rounding, whose logarithm must not be taken of a number that underflows
    if m.min() > 40:
        return (-m).logsumexp(-1), (-m).softmax(-1)
    each = torch.where(m > 40, -m, torch.nn.functional.softplus(-m).log())
    log_loss = each.logsumexp(-1)
    return log_loss, (torch.nn.functional.logsigmoid(-m) - log_loss[:, None]).exp()
