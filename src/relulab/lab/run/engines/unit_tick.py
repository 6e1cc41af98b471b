"""What a study's ``measure`` is handed: it is told of seed-steps, and says where to compute and keep checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relulab.lab.run.store import Run
from relulab.lab.study import Study, Unit

if TYPE_CHECKING:
    from relulab.train.checkpoint import Checkpoint

SECONDS = 60.0  # between two checkpoints of a training, at least


@dataclass(frozen=True)
class UnitTick:
    """Call it with seed-steps done. Training takes its device and its checkpoint from here, so every study has them."""

    count: Callable[[int], None]
    checkpoint: Checkpoint | None = None
    device: str = "cpu"

    def __call__(self, seed_steps: int) -> None:
        self.count(seed_steps)


def unit_tick(
    count: Callable[[int], None], study: Study, unit: Unit, run: Run | None, *, seconds: float | None, device: str
) -> UnitTick:
    """The tick of a unit; without checkpoints when ``run`` is out of reach or ``seconds`` between them is None."""
    if run is None or seconds is None:
        return UnitTick(count, None, device)
    from relulab.train.checkpoint import Checkpoint  # torch, which a process that only asks need not load

    checkpoint = Checkpoint(
        run.checkpoint(unit), seconds=seconds, key=f"{study.name} {study.hash} {unit.name}",
        on_resume=lambda where: run.log(unit=unit.name, resumed=where),
    )  # fmt: skip
    return UnitTick(count, checkpoint, device)
