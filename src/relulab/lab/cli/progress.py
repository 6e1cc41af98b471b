"""What a user sees of a run under way: a forecast, then a bar with units, seed-steps a second and time left."""

import time

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from relulab.lab.cli.tables import errors
from relulab.lab.runner import rough_seconds
from relulab.lab.speed import product_rate
from relulab.lab.store import Run
from relulab.lab.study import Study, Unit
from relulab.lab.words import span

LINE = 10.0  # seconds, at the least, between plain lines


class Bar:
    """On stderr: a moving bar on a terminal, elsewhere a plain line now and then."""

    def waiting(self, run: Run, holder: str) -> None:
        errors.print(f"{run.path} is held by {holder}: waiting for it", highlight=False, soft_wrap=True)

    def start(self, study: Study, run: Run, todo: list[Unit], kept: int, workers: int) -> None:
        self.steps_done, self.units_done, self.units = 0, kept, kept + len(todo)
        self.begun = self.said = time.perf_counter()
        self.rate, self.total = 0.0, sum(unit.seed_steps for unit in todo)
        errors.print(f"[bold]{study.name}[/] {' '.join(study.ids)}: {_forecast(todo, kept, workers)}", highlight=False)
        errors.print(f"  into {run.path}", highlight=False, soft_wrap=True)
        self.bar = Progress(
            BarColumn(),
            TextColumn("{task.fields[units]} units  {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=errors,
            transient=True,
            disable=not errors.is_terminal,
        )
        self.bar.start()
        self.task = self.bar.add_task("", total=self.total, units=f"{kept}/{self.units}", rate="")

    def steps(self, seed_steps: int) -> None:
        self.steps_done += seed_steps
        self.rate = self.steps_done / (time.perf_counter() - self.begun)
        self.bar.update(self.task, advance=seed_steps, rate=f"{self.rate:,.0f} seed-steps/s")

    def unit(self, unit: Unit, seconds: float) -> None:
        self.units_done += 1
        self.bar.update(self.task, units=f"{self.units_done}/{self.units}")
        now = time.perf_counter()
        if not errors.is_terminal and (now - self.said > LINE or self.units_done == self.units):
            self.said = now
            left = span((self.total - self.steps_done) / self.rate) if self.rate else "?"
            line = f"  {self.units_done} of {self.units} units, {self.rate:,.0f} seed-steps/s, {left} left"
            errors.print(line, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        self.bar.stop()


def _forecast(todo: list[Unit], kept: int, workers: int) -> str:
    if not todo:
        return f"all {kept} units are there, figures and claims follow"
    there = f" ({kept} more are there already)" if kept else ""
    seconds = rough_seconds(todo, workers, product_rate)
    processes = "1 process" if workers == 1 else f"{workers} processes"
    return f"{len(todo)} unit{'s' if len(todo) > 1 else ''}{there}, about {span(max(seconds, 1))} on {processes}"
