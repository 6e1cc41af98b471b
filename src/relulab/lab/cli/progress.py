"""The progress of a run in the terminal: an estimate, then a bar with units, seed-steps/s, time left and memory."""

import time

from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as RichProgress

from relulab.lab.cli.terminal import errors
from relulab.lab.run.meter import Progress
from relulab.lab.run.runner import rough_seconds
from relulab.lab.run.speed import product_rate
from relulab.lab.run.store import Run
from relulab.lab.show.words import size, span
from relulab.lab.study import Study, Unit

LINE = 10.0  # minimum time between two plain progress lines, in seconds


class Bar:
    """Progress on stderr: a bar in a terminal, otherwise a plain line every ``LINE`` seconds."""

    def __init__(self):
        self.bar = RichProgress(
            BarColumn(),
            TextColumn("{task.fields[line]}", markup=False),
            console=errors,
            transient=True,
            disable=not errors.is_terminal,
        )
        self.task = self.bar.add_task("", total=1.0, line="")
        self.last_line = time.monotonic()

    def say(self, sentence: str) -> None:
        errors.print(f"  {sentence}", highlight=False, soft_wrap=True, markup=False)

    def start(self, study: Study, run: Run, todo: list[Unit], kept: int, workers: int) -> None:
        errors.print(f"[bold]{study.name}[/] {' '.join(study.ids)}: {_forecast(todo, kept, workers)}", highlight=False)
        errors.print(f"  results go to {run.path}", highlight=False, soft_wrap=True, markup=False)
        self.bar.start()

    def moved(self, progress: Progress) -> None:
        self.bar.update(self.task, completed=progress["share"], line=line(progress))
        complete = progress["done"] == progress["units"]
        if not errors.is_terminal and (complete or time.monotonic() - self.last_line > LINE):
            self.last_line = time.monotonic()
            errors.print(f"  {line(progress)}", highlight=False, soft_wrap=True, markup=False)

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
    measured = f" ({kept} more are already measured)" if kept else ""
    seconds = rough_seconds(todo, workers, product_rate)
    processes = "1 process" if workers == 1 else f"{workers} processes"
    return f"{len(todo)} unit{'s' if len(todo) > 1 else ''}{measured}, about {span(max(seconds, 1))} on {processes}"
