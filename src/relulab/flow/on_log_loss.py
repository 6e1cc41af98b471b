r"""Gradient flow followed on the logarithm of the loss, by steps of one size relative to what they change.

Along θ̇ = −∇ℓ(θ) the clock s with ds = ℓ dt gives dθ/ds = −∇ log ℓ(θ): the same path, but late in training, where ℓ
falls like 1/t and directions settle like 1/log t, the loss falls by equal factors in equal steps. log ℓ is summed from
log ℓ_i and never leaves the number range, so the path may be followed to losses such as e^(−10⁵).

A step h of the midpoint rule is as long as two bounds allow, with one number ``step`` for both: no weight changes by
more than about that share of its size (early, when loss hardly falls), and log ℓ falls by no more than that (late).
Where the path is stiff, near a minimum of data that cannot be fitted, h is also kept below 1/Σ p_i‖∇f(x_i)‖²; and a
step is made again with half of h while its middle shows it too long, or log ℓ rises by more than ``step``. Halving
``step`` shows what it has left to say. Where neurons slide along kinks it has first order, elsewhere second.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

State = TypeVar("State")
DENSE = 50  # steps at the start of which every one is looked at
STILL = 1e-12  # relative speed below which a lane counts as arrived
PATIENCE, GAIN = 1000, 0.01  # steps after which stalls are looked for, and the fall of log ℓ that is none
HALVINGS = 40  # of a step that is too long; the last one is taken


class Pull(NamedTuple):
    """−∇ log ℓ at a state, in the form its dynamics can step along, with what the length of a step needs to know."""

    along: tuple[Tensor, ...]
    log_loss: Float64[Tensor, " lane"]
    speed: Float64[Tensor, " lane"]
    """largest relative rate at which a weight changes"""
    square: Float64[Tensor, " lane"]
    """‖∇ log ℓ‖², the rate at which log ℓ falls"""
    stiff: Float64[Tensor, " lane"]
    """Σ p_i ‖∇f(x_i)‖², which bounds how sharply log ℓ curves; 0 where that is not needed"""


@runtime_checkable
class Dynamics(Protocol[State]):
    """What is followed: where it pulls, where a step of length h along a pull leads, and along what a step goes."""

    def pull(self, state: State) -> Pull: ...
    def moved(self, state: State, along: tuple[Tensor, ...], h: Float64[Tensor, " lane"]) -> State: ...
    def course(self, first: Pull, middle: Pull) -> tuple[Tensor, ...]: ...


class Clock(NamedTuple):
    """Where on the path every lane is: steps taken, s = ∫ ℓ dt, log t and log ℓ."""

    steps: int
    s: Float64[Tensor, " lane"]
    log_t: Float64[Tensor, " lane"]
    log_loss: Float64[Tensor, " lane"]

    @classmethod
    def start(cls, lanes: int, device: torch.device | None = None) -> "Clock":
        """That of lanes which have not moved.

        Args:
            lanes: how many.
            device: where they are, the CPU unless told.
        """
        zero = torch.zeros(lanes, dtype=torch.float64, device=device)
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

    A lane that has arrived, whose gradient is zero, or that has not moved on while the number of steps doubled, waits
    for the others. ``look`` is called at the start, at the end and, in between, at each of the first 50 steps, then
    whenever 5 % more steps are done. The last of what is returned tells whether ``look`` ended it.
    """
    due, pull, before = clock.steps, dynamics.pull(state), None
    stalled = torch.zeros_like(pull.log_loss, dtype=torch.bool)
    while True:
        clock = clock._replace(log_loss=pull.log_loss)
        if clock.steps >= PATIENCE and (before is None or clock.steps >= 2 * before[0]):
            stalled |= _stands(before[1], pull) if before else stalled
            before = clock.steps, pull
        moving = (-pull.log_loss < until) & (pull.square > 0) & (pull.speed > STILL) & ~stalled
        end = clock.steps >= steps or not moving.any()
        if clock.steps >= due or end:
            due = clock.steps + (1 if clock.steps < DENSE else math.ceil(0.05 * clock.steps))
            if look(state, clock):
                return state, clock, True
        if end:
            return state, clock, False
        h = step / torch.maximum(torch.maximum(pull.speed, pull.square), step * pull.stiff)
        h, middle, state, after = _step(dynamics, state, pull, torch.where(moving, h, 0.0), step)
        # dt = ds/ℓ, with the loss of the middle
        log_t = torch.logaddexp(clock.log_t, h.log() - middle.log_loss)
        clock, pull = Clock(clock.steps + 1, clock.s + h, log_t, pull.log_loss), after


def _step(dynamics: Dynamics[State], state: State, pull: Pull, h: Tensor, step: float) -> tuple:
    """One step of the midpoint rule, made again with half of h in the lanes in which it was too long."""
    for _ in range(HALVINGS):
        middle = dynamics.pull(dynamics.moved(state, pull.along, h / 2))
        new = dynamics.moved(state, dynamics.course(pull, middle), h)
        after = dynamics.pull(new)
        long = h * torch.maximum(middle.speed, middle.square) > 2 * step
        long |= ~(after.log_loss <= pull.log_loss + step)
        long &= h > 0
        if not long.any():
            break
        h = torch.where(long, h / 2, h)
    return h, middle, new, after


def _stands(then: Pull, now: Pull) -> Tensor:
    """Lanes that have not moved on: their loss did not fall, and no small weights grew."""
    return (now.log_loss > then.log_loss - GAIN) & (now.square < 2 * then.square)


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
