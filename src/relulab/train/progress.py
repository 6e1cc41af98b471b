"""The progress of a training run, counted by its ticks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relulab.core.progress_bar import Progress

Tick = Callable[[int], Any]


def no_tick(seed_steps: int) -> None:
    """The default tick: nobody else counts the seed-steps."""


@contextmanager
def shown(tick: Tick, progress: bool | None, total: int) -> Iterator[Tick]:
    """Yield a tick that also shows the progress of the training run in the block.

    Args:
        tick: The tick of the caller.
        progress: Whether to show it. Default: if a person watches and there is no other tick.
        total: Number of seed-steps.
    """
    done = 0
    with Progress(progress if progress is not None or tick is no_tick else False) as bar:

        def counted(seed_steps: int) -> None:
            nonlocal done
            tick(seed_steps)
            done += seed_steps
            rate = done / max(bar.seconds, 1e-9)
            bar.show(done / total, f"{done:,} of {total:,} seed-steps, {rate:,.0f}/s")

        yield counted
