r"""Gradient flow on the logarithm of the loss, with steps of a fixed relative size.

The flow is θ̇ = −∇ℓ(θ). In the new time s with ds = ℓ dt it becomes dθ/ds = −∇ log ℓ(θ), which has the same trajectory.
Late in training ℓ decreases like 1/t and directions converge like 1/log t, but the steps in s still decrease the loss
by equal factors. log ℓ is computed from log ℓ_i without overflow or underflow, so the flow can be followed to losses
such as e^{−100000}.

The length h of a step of the midpoint rule is limited by two bounds: log ℓ decreases by at most ``step``, which matters
late in training, and every weight changes by at most ``step``/8 of its size, which matters early. There errors add up:
with ``step`` = 0.4, the sizes of neurons at the end are accurate to half a percent. Near a minimum of data that
cannot be fitted, the flow is stiff, and h is also kept below 1/Σ_i p_i ‖∇f(x_i)‖². A step is repeated with half of h if
it turns out too long at its midpoint, or if log ℓ increases by more than ``step``. To estimate the error, repeat the
computation with half of ``step``. The method has order two, and order one where neurons slide along kinks of the ReLU.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.short_repr import short_repr

State = TypeVar("State")
DENSE = 50  # number of first steps with a snapshot at each
STILL = 1e-12  # relative speed, in units of the largest ‖x_i‖, below which a lane counts as stationary
PATIENCE = 1000  # number of steps before lanes are checked for progress
FINE = 8  # changes of weights are smaller than falls of log ℓ: while weights grow from a small start, errors add up
GAIN = 0.01  # decrease of log ℓ that counts as progress
HALVINGS = 40  # largest number of attempts for a step; the last one is accepted


class Pull(NamedTuple):
    """−∇ log ℓ at a state, in the form used by its dynamics, and the quantities that determine the step length."""

    along: tuple[Tensor, ...]
    log_loss: Float64[Tensor, " lane"]
    speed: Float64[Tensor, " lane"]
    """largest relative rate of change of a weight"""
    square: Float64[Tensor, " lane"]
    """‖∇ log ℓ‖², the rate at which log ℓ decreases"""
    stiff: Float64[Tensor, " lane"]
    """Σ_i p_i ‖∇f(x_i)‖², which bounds the curvature of log ℓ; 0 if not needed"""


@runtime_checkable
class Dynamics(Protocol[State]):
    """The dynamics of a state.

    ``pull`` returns −∇ log ℓ, ``moved`` the state after a move of length h, and ``stepped`` the state after a step of
    length h, given the pulls at its start and at its midpoint. ``X`` are the points of each lane.
    """

    X: Float64[Tensor, "lane n d"]

    def pull(self, state: State) -> Pull: ...
    def moved(self, state: State, along: tuple[Tensor, ...], h: Float64[Tensor, " lane"]) -> State: ...
    def stepped(self, state: State, first: Pull, middle: Pull, h: Float64[Tensor, " lane"]) -> State: ...


class Clock(NamedTuple):
    """The position of every lane on its trajectory: number of steps, s = ∫ ℓ dt, log t and log ℓ."""

    steps: int
    s: Float64[Tensor, " lane"]
    log_t: Float64[Tensor, " lane"]
    log_loss: Float64[Tensor, " lane"]

    __repr__ = short_repr

    @classmethod
    def start(cls, lanes: int, device: torch.device | None = None) -> "Clock":
        """Return the clock at the start of the flow.

        Args:
            lanes: Number of lanes.
            device: Device of the lanes. Default: the CPU.
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
    fine: int = FINE,
) -> tuple[State, Clock, bool]:
    """Follow all lanes until ℓ ≤ e^{−until} in each, ``steps`` is reached, or ``look`` returns True.

    A lane stops and waits for the others when it reaches this loss, when its gradient is zero, or when it has made no
    progress while the number of steps doubled.

    Args:
        dynamics: The dynamics of the state.
        state: The state at the start, with a leading lane axis.
        clock: The clock at the start.
        until: Value of −log ℓ at which a lane stops.
        step: Largest decrease of log ℓ in one step.
        steps: Largest total number of steps, including those already on the clock.
        look: Function that is called with state and clock at every snapshot: at the start, at the end, after each of
            the first 50 steps, and then each time the number of steps has grown by 5%.
        fine: In one step, a weight changes by at most ``step`` / ``fine`` of its size.

    Returns:
        The state and the clock at the end, and whether ``look`` ended the flow.
    """
    due, pull, before = clock.steps, dynamics.pull(state), None
    still = STILL * dynamics.X.norm(dim=-1).amax(-1)
    stalled = torch.zeros_like(pull.log_loss, dtype=torch.bool)
    while True:
        clock = clock._replace(log_loss=pull.log_loss)
        if clock.steps >= PATIENCE and (before is None or clock.steps >= 2 * before[0]):
            stalled |= _stalled(before[1], pull) if before else stalled
            before = clock.steps, pull
        moving = (-pull.log_loss < until) & (pull.square > 0) & (pull.speed > still) & ~stalled
        end = clock.steps >= steps or not moving.any()
        if clock.steps >= due or end:
            due = clock.steps + (1 if clock.steps < DENSE else math.ceil(0.05 * clock.steps))
            if look(state, clock):
                return state, clock, True
        if end:
            return state, clock, False
        h = step / torch.maximum(torch.maximum(fine * pull.speed, pull.square), step * pull.stiff)
        h, middle, state, after = _step(dynamics, state, pull, torch.where(moving, h, 0.0), (step, fine))
        # dt = ds/ℓ, with the loss at the midpoint
        log_t = torch.logaddexp(clock.log_t, h.log() - middle.log_loss)
        clock, pull = Clock(clock.steps + 1, clock.s + h, log_t, pull.log_loss), after


def _step(dynamics: Dynamics[State], state: State, pull: Pull, h: Tensor, limits: tuple[float, int]) -> tuple:
    """Take one step of the midpoint rule, repeated with half of h in the lanes in which it was too long."""
    step, fine = limits
    for _ in range(HALVINGS):
        middle = dynamics.pull(dynamics.moved(state, pull.along, h / 2))
        new = dynamics.stepped(state, pull, middle, h)
        after = dynamics.pull(new)
        too_long = h * torch.maximum(fine * middle.speed, middle.square) > 2 * step
        too_long |= ~(after.log_loss <= pull.log_loss + step)
        too_long &= h > 0
        if not too_long.any():
            break
        h = torch.where(too_long, h / 2, h)
    return h, middle, new, after


def _stalled(earlier: Pull, now: Pull) -> Tensor:
    """Whether each lane has made no progress: its loss has not decreased, and no small weights have grown."""
    return (now.log_loss > earlier.log_loss - GAIN) & (now.square < 2 * earlier.square)
