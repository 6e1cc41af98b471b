"""Complete a run: measure the units that are missing, draw the figures and judge the claims."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from relulab.lab.outside_code import blamed
from relulab.lab.run.about import describe
from relulab.lab.run.answers import animations_of, claims_of, figures_of, units_of
from relulab.lab.run.engines import Engine
from relulab.lab.run.environment import environment
from relulab.lab.run.meter import Meter
from relulab.lab.run.store import MOVING, Run, encode, write_bytes, write_checked, write_json
from relulab.lab.run.watchers import Watcher
from relulab.lab.show.animation import animated
from relulab.lab.show.figure import FORMATS, drawn, house_style
from relulab.lab.study import Study, Unit

STARTING = 5.0  # seconds for the workers to load torch, and for drawing
BEAT = 1.0  # seconds between two progress reports
TOO_SMALL = "the preset smoke only shows that the study runs; --preset quick is large enough for verdicts"


class Job:
    """Completes a run that this process has locked."""

    def __init__(self, study: Study, run: Run, preset: str, engine: Engine, watcher: Watcher):
        self.study, self.run, self.preset, self.engine, self.watcher = study, run, preset, engine, watcher
        run.prepare()
        self.units = units_of(study)
        self.todo = [unit for unit in self.units if not run.has(unit)]
        before = run.status
        # If nothing is measured, the recorded machine and number of processes stay those of the earlier run.
        self.workers = engine.crew(len(self.todo)) if self.todo else before.get("workers", 1)
        self.spent, self.begun, self.reported = before.get("seconds", 0.0), time.monotonic(), 0.0
        self.meter = Meter(self.todo, len(self.units) - len(self.todo))

    def complete(self) -> None:
        """Measure the missing units, draw the figures and judge the claims."""
        describe(self.study, self.run, self.preset)
        if self.todo:
            machine = environment(getattr(self.engine, "device", "cpu"))
            write_json(self.run.path / "env.json", machine)
            self.run.log(at=_now(), start=len(self.todo), workers=self.workers, commit=machine["commit"])
        self.status("running")
        self.watcher.start(self.study, self.run, self.todo, self.meter.done, self.workers)
        try:
            self.engine.run(self.study, self.run, self.todo, self.on_unit, self.on_steps, self.watcher.say)
            _conclude(self.study, self.run, self.units, self.preset)
        except BaseException as error:
            with suppress(OSError):  # the error may be that nothing can be written
                self.status("interrupted" if isinstance(error, KeyboardInterrupt) else "failed")
            raise
        finally:
            self.watcher.stop()
        self.status("finished")

    def on_unit(self, unit: Unit, seconds: float) -> None:
        self.meter.unit()
        self.run.log(at=_now(), unit=unit.name, seconds=round(seconds, 3), seed_steps=unit.seed_steps)
        self.status("running")
        self.report()

    def on_steps(self, unit: Unit, seed_steps: int) -> None:
        self.meter.steps(unit, seed_steps)
        if time.monotonic() - self.reported > BEAT:
            self.report()

    def report(self) -> None:
        self.reported, progress = time.monotonic(), self.meter.progress()
        with suppress(OSError):  # only needed by relulab watch
            write_json(self.run.path / "progress.json", progress)
        self.watcher.moved(progress)

    def status(self, state: str) -> None:
        seconds = self.spent + (time.monotonic() - self.begun if self.todo else 0)
        write_json(self.run.path / "status.json", {
            "state": state, "units": len(self.units), "done": self.meter.done, "seconds": round(seconds, 3),
            "workers": self.workers, "seed_steps": sum(unit.seed_steps for unit in self.units), "updated": _now(),
        })  # fmt: skip


def _conclude(study: Study, run: Run, units: list[Unit], preset: str) -> None:
    """Join the units, draw the figures and judge the claims."""
    with blamed(type(study).__module__, "when the results of all units are joined"):
        result = run.joined(units)
    write_checked(run.path / "result.nc", encode(result))
    with house_style():
        figures, animations = figures_of(study, result), animations_of(study, result)
    drawings = [{"figure": name, "caption": _caption(study, name)} for name in figures]
    moving = [
        {"animation": name, "words": animation.words, "caption": _caption(study, name)}
        for name, animation in animations.items()
    ]
    write_json(run.path / "figures.json", [*drawings, *moving])  # in the order of the study
    for name, figure in figures.items():
        for ending in FORMATS:
            write_bytes(run.path / "figures" / f"{name}.{ending}", drawn(figure, ending))
    for name, animation in animations.items():
        for ending, content in animated(animation)._asdict().items():
            write_bytes(run.path / "figures" / f"{name}.{MOVING[ending]}", content)
    claims = claims_of(study, result)
    if preset == "smoke":
        claims = [claim.unjudged(TOO_SMALL) for claim in claims]
    write_json(run.path / "claims.json", [claim.to_dict() for claim in claims])


def _caption(study: Study, name: str) -> str:
    """The caption of a figure; one for ``best`` also serves ``best-5x``."""
    return next((text for key, text in study.captions.items() if name == key or name.startswith(f"{key}-")), "")


def rough_seconds(todo: list[Unit], workers: int, rate: Callable[[], float]) -> float:
    """Estimate the time of a run: flops at 45% of the measured rate of a large matrix product, plus the start.

    Args:
        todo: The units to measure.
        workers: The number of processes.
        rate: Measures the rate of a matrix product on one core, in flops per second.
    """
    return STARTING + sum(unit.flops for unit in todo) / (0.45 * rate() * workers) if todo else 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
