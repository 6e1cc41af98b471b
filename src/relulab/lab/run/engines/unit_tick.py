"""The tick that an engine passes to ``Study.measure``: it counts seed-steps and has the device and the checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relulab.lab.run.store import Run
from relulab.lab.study import Study, Unit

if TYPE_CHECKING:
    from relulab.train.checkpoint import Checkpoint

SECONDS = 60.0  # minimum time between two checkpoints of a training


@dataclass(frozen=True)
class UnitTick:
    """To be called with the seed-steps done. ``fit`` takes the device and the checkpoint from it."""

    count: Callable[[int], None]
    checkpoint: Checkpoint | None = None
    device: str = "cpu"

    def __call__(self, seed_steps: int) -> None:
        self.count(seed_steps)


def unit_tick(
    count: Callable[[int], None], study: Study, unit: Unit, run: Run | None, *, seconds: float | None, device: str
) -> UnitTick:
    """Return the tick of a unit.

    Args:
        count: Called with the seed-steps done.
        study: The study.
        unit: The unit.
        run: The run whose folder stores the checkpoints, or None for no checkpoints.
        seconds: The minimum time between two checkpoints, or None for no checkpoints.
        device: The device for training.
    """
    if run is None or seconds is None:
        return UnitTick(count, None, device)
    from relulab.train.checkpoint import Checkpoint  # imports torch, so only when needed

    checkpoint = Checkpoint(
        run.units.checkpoint(unit), seconds=seconds, key=f"{study.name} {run.hash} {unit.name}",
        on_resume=lambda where: run.log(unit=unit.name, resumed=where),
    )  # fmt: skip
    return UnitTick(count, checkpoint, device)
