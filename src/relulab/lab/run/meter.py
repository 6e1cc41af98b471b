"""How far a run is: units, seed-steps a second, time left, memory. What a bar shows and ``relulab watch`` reads."""

import time
from collections.abc import Sequence
from typing import TypedDict

import psutil

from relulab.lab.study import Unit


class Progress(TypedDict):
    """A snapshot, as it stands in progress.json; ``share`` is of the work, ``left`` in seconds, None when unknown."""

    done: int
    units: int
    seed_steps: int
    share: float
    rate: float
    left: float | None
    memory: int


class Meter:
    """Counts what an engine tells. Shares are of flops: a step of a wide network is more than one of a narrow."""

    def __init__(self, todo: Sequence[Unit], kept: int):
        self.done, self.units, self.seed_steps = kept, kept + len(todo), 0
        self.cost, self.whole = 0.0, sum(_cost(unit) for unit in todo)
        self.begun: float | None = None

    def steps(self, unit: Unit, seed_steps: int) -> None:
        # The clock starts with the first step: loading torch says nothing about the rest.
        self.begun = time.monotonic() if self.begun is None else self.begun
        self.seed_steps += seed_steps
        self.cost += _cost(unit) * seed_steps / unit.seed_steps if unit.seed_steps else 0.0

    def unit(self) -> None:
        self.done += 1

    def progress(self) -> Progress:
        elapsed = time.monotonic() - self.begun if self.begun is not None else 0.0
        share = min(1.0, max(0.0, self.cost / self.whole)) if self.whole else 1.0
        return Progress(
            done=self.done, units=self.units, seed_steps=self.seed_steps, share=share,
            rate=self.seed_steps / elapsed if elapsed else 0.0,
            left=elapsed * (1 - share) / share if share and elapsed else None, memory=memory(),
        )  # fmt: skip


def _cost(unit: Unit) -> float:
    return unit.flops or float(unit.seed_steps)


def memory() -> int:
    """Bytes in use by this process and its workers."""
    me, total = psutil.Process(), 0
    for process in (me, *me.children(recursive=True)):
        try:
            total += process.memory_info().rss
        except psutil.Error:  # it just ended
            continue
    return total
