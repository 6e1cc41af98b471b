"""Learning-rate schedules.

A schedule is any function that maps the number of finished epochs to a factor for the learning rate. A schedule with an
attribute ``by = "step"`` gets the number of finished steps instead; ``by_step`` creates one from a plain function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi
from typing import Any, Literal

from relulab.core.errors import UserError
from relulab.core.explained import checks_itself
from relulab.core.value_words import shortened

Schedule = Callable[[int], float]
By = Literal["epoch", "step"]


@checks_itself("by")
@dataclass(frozen=True)
class StepDecay:
    """Step decay: the rate is multiplied by γ^{⌊t/k⌋} with γ = ``factor`` and k = ``every``, like PyTorch's ``StepLR``.

    Args:
        every: Number of epochs (or steps) between two decays.
        factor: Factor of each decay, above 0.
        by: Whether t counts epochs or steps.

    >>> [StepDecay(every=2)(epoch) for epoch in range(5)]
    [1.0, 1.0, 0.1, 0.1, 0.010000000000000002]
    """

    every: int
    factor: float = 0.1
    by: By = "epoch"

    def __post_init__(self) -> None:
        if self.every < 1 or not self.factor > 0:
            raise UserError(
                f"expected every of at least 1 and a positive factor, got every={self.every}, factor={self.factor}: "
                "change the value out of range"
            )

        _checked_unit(self.by)

    def __call__(self, t: int) -> float:
        return float(self.factor) ** (t // self.every)


@checks_itself("by")
@dataclass(frozen=True)
class Cosine:
    """Cosine decay: floor + (1 − floor)(1 + cos(π t / length)) / 2, like ``CosineAnnealingLR`` in PyTorch.

    After ``length`` epochs (or steps) the factor stays at ``floor``.

    Args:
        length: Number of epochs (or steps) of the decay, after the warmup.
        floor: Smallest factor, from 0 to 1.
        warmup: Number of epochs (or steps) at the start over which the factor increases linearly to 1.
        by: Whether t counts epochs or steps.

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
                "expected a length of at least 1, a warmup of at least 0 and a floor from 0 to 1, got "
                f"length={self.length}, warmup={self.warmup}, floor={self.floor}: change the value out of range"
            )

        _checked_unit(self.by)

    def __call__(self, t: int) -> float:
        if t < self.warmup:
            return (t + 1) / (self.warmup + 1)
        share = min((t - self.warmup) / self.length, 1.0)
        return self.floor + (1 - self.floor) * (1 + cos(pi * share)) / 2


@dataclass(frozen=True)
class by_step:
    """A schedule from a function of the step.

    Args:
        function: Function that maps the number of finished steps to a factor.

    >>> by_step(lambda step: 0.5**step)(2)
    0.25
    """

    function: Schedule
    by: By = "step"

    def __post_init__(self) -> None:
        _checked_unit(self.by)

    def __call__(self, t: int) -> float:
        return self.function(t)


def check_schedule(schedule: Any) -> None:
    """Refuse what is not a schedule, before training starts.

    Args:
        schedule: None, or a function of the epoch or of the step.
    """
    if isinstance(schedule, type) or not (schedule is None or callable(schedule)):
        raise UserError(
            f"expected a schedule, which is a function of the epoch, got {shortened(schedule)}: use an object such as "
            "Cosine(length=100), or lambda epoch: 0.5"
        )
    _checked_unit(getattr(schedule, "by", "epoch"))


def _checked_unit(by: Any) -> None:
    if by not in ("epoch", "step"):
        raise UserError(f'expected by="epoch" or by="step" in a schedule, got by={shortened(by)}: choose one of them')


def factor_at(schedule: Schedule | None, epoch: int, step: int) -> float:
    """Return the factor for the learning rate.

    Args:
        schedule: The schedule; None always gives 1.
        epoch: Number of finished epochs.
        step: Number of finished steps since the start of training.
    """
    if schedule is None:
        return 1.0
    factor = float(schedule(step if getattr(schedule, "by", "epoch") == "step" else epoch))
    if not factor >= 0:
        raise UserError(
            f"expected a factor of at least 0 from the schedule, got {factor} in epoch {epoch}, step {step}: change "
            "the schedule"
        )
    return factor
