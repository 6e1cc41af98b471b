"""Schedules: what the learning rate is multiplied by as training goes on.

A schedule is any callable from a count to a factor. The count is of epochs that are over, or of steps for a schedule
with ``by = "step"``; ``by_step`` makes one of a plain function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi
from typing import Literal

from relulab.core.errors import UserError

Schedule = Callable[[int], float]
By = Literal["epoch", "step"]


@dataclass(frozen=True)
class StepDecay:
    """factor^⌊t / every⌋: the rate falls by ``factor`` every so many epochs (or steps), as ``StepLR`` of PyTorch does.

    >>> [StepDecay(every=2)(epoch) for epoch in range(5)]
    [1.0, 1.0, 0.1, 0.1, 0.010000000000000002]
    """

    every: int
    factor: float = 0.1
    by: By = "epoch"

    def __post_init__(self) -> None:
        if self.every < 1 or not self.factor > 0:
            raise UserError(f"every={self.every}, factor={self.factor}: both must be positive")

    def __call__(self, t: int) -> float:
        return float(self.factor) ** (t // self.every)


@dataclass(frozen=True)
class Cosine:
    """floor + (1 − floor)(1 + cos(π t / length)) / 2, then ``floor``, as ``CosineAnnealingLR`` of PyTorch does.

    With ``warmup`` the rate first grows in a line over so many epochs (or steps), and ``length`` counts from there.

    >>> Cosine(length=4)(2)
    0.5
    """

    length: int
    floor: float = 0.0
    warmup: int = 0
    by: By = "epoch"

    def __post_init__(self) -> None:
        if self.length < 1 or self.warmup < 0 or not 0 <= self.floor <= 1:
            raise UserError(
                f"length={self.length}, warmup={self.warmup}, floor={self.floor}: a positive length, a warmup of at "
                "least 0 and a floor from 0 to 1"
            )

    def __call__(self, t: int) -> float:
        if t < self.warmup:
            return (t + 1) / (self.warmup + 1)
        share = min((t - self.warmup) / self.length, 1.0)
        return self.floor + (1 - self.floor) * (1 + cos(pi * share)) / 2


@dataclass(frozen=True)
class by_step:
    """A function of the step, counted from 0, as a schedule.

    >>> by_step(lambda step: 0.5**step)(2)
    0.25
    """

    function: Schedule
    by: By = "step"

    def __call__(self, t: int) -> float:
        return self.function(t)


def factor_at(schedule: Schedule | None, epoch: int, step: int) -> float:
    """What the rate is multiplied by in an epoch, at a step that is counted from the start of training."""
    if schedule is None:
        return 1.0
    factor = float(schedule(step if getattr(schedule, "by", "epoch") == "step" else epoch))
    if not factor >= 0:
        raise UserError(f"the schedule gave {factor} in epoch {epoch}, at step {step}: a factor is at least 0")
    return factor
