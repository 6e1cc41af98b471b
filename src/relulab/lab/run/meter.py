"""The progress of a run: units, seed-steps per second, time left, memory. ``relulab watch`` reads it."""

import time
from collections.abc import Sequence
from typing import TypedDict

import psutil

from relulab.lab.study import Unit


class Progress(TypedDict):
    """The contents of progress.json. ``share`` is the share of the work done, ``left`` the seconds left or None."""

    done: int
    units: int
    seed_steps: int
    share: float
    rate: float
    left: float | None
    memory: int


class Meter:
    """Counts the progress that an engine reports. Shares are of flops: a step of a wide network costs more."""

    def __init__(self, todo: Sequence[Unit], kept: int):
        self.done, self.units, self.seed_steps = kept, kept + len(todo), 0
        self.cost, self.total_cost = 0.0, sum(_cost(unit) for unit in todo)
        self.begun: float | None = None
        self._memory, self._weighed = 0, float("-inf")

    def steps(self, unit: Unit, seed_steps: int) -> None:
        """Count seed-steps of a unit."""
        # The clock starts at the first step: the time to load torch would distort the rate.
        self.begun = time.monotonic() if self.begun is None else self.begun
        self.seed_steps += seed_steps
        self.cost += _cost(unit) * seed_steps / unit.seed_steps if unit.seed_steps else 0.0

    def unit(self) -> None:
        """Count a finished unit."""
        self.done += 1

    def progress(self) -> Progress:
        """Return the current progress."""
        elapsed = time.monotonic() - self.begun if self.begun is not None else 0.0
        share = min(1.0, max(0.0, self.cost / self.total_cost)) if self.total_cost else 1.0
        return Progress(
            done=self.done, units=self.units, seed_steps=self.seed_steps, share=share,
            rate=self.seed_steps / elapsed if elapsed else 0.0,
            left=elapsed * (1 - share) / share if share and elapsed else None, memory=self.memory(),
        )  # fmt: skip

    def memory(self) -> int:
        """Return the number of bytes in use. They are counted once per second, because it takes as long as a unit."""
        if time.monotonic() - self._weighed > 1:
            self._memory, self._weighed = memory(), time.monotonic()
        return self._memory


def _cost(unit: Unit) -> float:
    return unit.flops or float(unit.seed_steps)


def memory() -> int:
    """Return the number of bytes in use by this process and its workers."""
    this, total = psutil.Process(), 0
    for process in (this, *this.children(recursive=True)):
        try:
            total += process.memory_info().rss
        except psutil.Error:  # it just ended
            continue
    return total
