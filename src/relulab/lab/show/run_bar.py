"""The progress of a run: an estimate, then a bar with units, seed-steps/s, time left and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from relulab.core.printable import shortened
from relulab.core.progress_bar import Bar
from relulab.lab.run.meter import Progress
from relulab.lab.run.store import Run
from relulab.lab.show.console import errors
from relulab.lab.show.words import size, span

if TYPE_CHECKING:
    from relulab.lab.study import Study, Unit


class Messages:
    """A watcher that shows messages only, such as what the run waits for. Everything goes to stderr."""

    def say(self, sentence: str) -> None:
        errors.print(f"  {shortened(sentence)}", soft_wrap=True, markup=False)

    def start(self, study, run, todo, kept, workers) -> None: ...
    def moved(self, progress) -> None: ...
    def stop(self) -> None: ...


class RunBar(Messages):
    """A watcher with a bar, or with a plain line from time to time where no bar can be drawn."""

    def __init__(self) -> None:
        self.bar = Bar(errors)

    def start(self, study: Study, run: Run, todo: list[Unit], kept: int, workers: int) -> None:
        errors.print(f"[bold]{study.name}[/] {escape(' '.join(study.ids))}: {_forecast(todo, kept, workers)}")
        self.say(f"results go to {run.path}")
        self.bar.start()

    def moved(self, progress: Progress) -> None:
        share = 1.0 if progress["done"] == progress["units"] else min(progress["share"], 0.999)
        self.bar.show(share, line(progress))

    def stop(self) -> None:
        self.bar.stop()


def line(progress: Progress) -> str:
    """Format a progress line.

    >>> line(dict(done=3, units=11, seed_steps=9, share=0.5, rate=12345.6, left=61.2, memory=2_100_000_000))
    '3 of 11 units, 12,346 seed-steps/s, 61 s left, 2.1 GB'
    """
    rate = [f"{progress['rate']:,.0f} seed-steps/s"] if progress["rate"] else []
    left = [f"{span(progress['left'])} left"] if progress["left"] is not None else []
    return ", ".join([f"{progress['done']} of {progress['units']} units", *rate, *left, size(progress["memory"])])


def _forecast(todo: list[Unit], kept: int, workers: int) -> str:
    """Say how many units will be measured and how long that will take."""
    if not todo:
        return f"all {kept} units are already measured; making figures and claims"
    from relulab.lab.run.job import rough_seconds
    from relulab.lab.run.speed import product_rate

    measured = f" ({kept} more are already measured)" if kept else ""
    seconds = rough_seconds(todo, workers, product_rate)
    processes = "1 process" if workers == 1 else f"{workers} processes"
    return f"{len(todo)} unit{'s' if len(todo) > 1 else ''}{measured}, about {span(max(seconds, 1))} on {processes}"
