"""Run a study from its configuration to its claims. Units that are already stored are not measured again."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from relulab.core.errors import UserError
from relulab.lab.catalog import find_study
from relulab.lab.outside_code import blamed
from relulab.lab.run.answers import animations_of, claims_of, figures_of, units_of
from relulab.lab.run.engines import Engine
from relulab.lab.run.engines.local import Local
from relulab.lab.run.environment import environment
from relulab.lab.run.meter import Meter, Progress
from relulab.lab.run.store import MOVING, SCHEMA, Run, encode, read_json, write_bytes, write_checked, write_json
from relulab.lab.run.troubles import troubles_of
from relulab.lab.show.animation import animated
from relulab.lab.show.figure import FORMATS, drawn, house_style
from relulab.lab.study import Study, Unit

STARTING = 5.0  # seconds for the workers to load torch, and for drawing
BEAT = 1.0  # seconds between two progress reports


@runtime_checkable
class Watcher(Protocol):
    """Receives the progress of a run."""

    def say(self, sentence: str) -> None: ...
    def start(self, study: Study, run: Run, todo: list[Unit], kept: int, workers: int) -> None: ...
    def moved(self, progress: Progress) -> None: ...
    def stop(self) -> None: ...


class Silent:
    """A watcher that ignores everything."""

    def say(self, sentence) -> None: ...
    def start(self, study, run, todo, kept, workers) -> None: ...
    def moved(self, progress) -> None: ...
    def stop(self) -> None: ...


def run_study(
    study: Study | str,
    *,
    preset: str | None = None,
    runs: Path = Path("runs"),
    engine: Engine | None = None,
    watcher: Watcher | None = None,
    redraw: bool = False,
) -> dict:
    """Run or continue a study.

    Units that are already stored are not measured again.

    Args:
        study: A configured study, or the name, id or Python file of a study (see ``find_study``), which is then run
            with the preset.
        preset: The preset after which the run is named. By default ``quick`` for a name, and the nearest preset for a
            configured study.
        runs: The folder of all runs.
        engine: The engine that measures the units. By default ``Local()``, with one process per core.
        watcher: Receives the progress. By default nothing is reported.
        redraw: Whether to make the figures, animations and claims of a finished run again from its stored units.

    Returns:
        The summary, which is the document that ``relulab run --json`` prints.
    """
    if isinstance(study, str):
        preset = preset or "quick"
        study = find_study(study).configured(preset)
    preset = preset or study.nearest_preset()
    check_ready(study, preset, Path(runs), redraw)
    run, watcher = Run.of(study, preset, Path(runs)), watcher or Silent()
    if run.schema != SCHEMA:
        raise UserError(
            f"{run.path} has schema {run.schema!r}, but this version of relulab needs schema {SCHEMA}: choose another "
            "folder with --runs, or use the version of relulab that wrote it"
        )
    engine = engine or Local()
    with (
        troubles_of(run),
        run.held(lambda holder: watcher.say(f"{run.path} is in use by {holder}: waiting until it ends")),
    ):
        _check_device(study, run, engine, redraw)
        if redraw or not run.finished:
            _Job(study, run, preset, engine, watcher).complete()
    return summary(run)


def check_ready(study: Study, preset: str, runs: Path, redraw: bool = False) -> None:
    """Raise a UserError if units must be measured and something they need is missing. Nothing is written."""
    run = Run.of(study, preset, runs)
    if (redraw or not run.finished) and not all(run.has(unit) for unit in units_of(study)):
        with blamed(type(study).__module__, "in ready()"):
            study.ready()


def _device(engine: Engine) -> str:
    return getattr(engine, "device", "cpu")


def _check_device(study: Study, run: Run, engine: Engine, redraw: bool) -> None:
    """Raise a UserError if some units were computed on another device, because one result must not mix devices."""
    units = units_of(study) if run.device not in (None, _device(engine)) else []
    kept = sum(run.has(unit) for unit in units)
    if kept and not (redraw and kept == len(units)):
        raise UserError(
            f"{run.path} has {kept} of {len(units)} units computed on {run.device}, but this command computes on "
            f"{_device(engine)}: use --device {run.device}, or choose another folder with --runs"
        )


class _Job:
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
        _describe(self.study, self.run, self.preset)
        if self.todo:
            machine = environment(_device(self.engine))
            write_json(self.run.path / "env.json", machine)
            self.run.log(at=_now(), start=len(self.todo), workers=self.workers, commit=machine["commit"])
        self.status("running")
        self.watcher.start(self.study, self.run, self.todo, self.meter.done, self.workers)
        try:
            self.engine.run(self.study, self.run, self.todo, self.on_unit, self.on_steps, self.watcher.say)
            _conclude(self.study, self.run, self.units)
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


def _describe(study: Study, run: Run, preset: str) -> None:
    """Write what the report needs to know about a study, so that it need not import the study."""
    about = {
        "schema": SCHEMA, "study": study.name, "title": study.title, "ids": list(study.ids), "source": study.source,
        "about": (type(study).__doc__ or "").strip(), "remarks": study.remarks, "preset": preset,
        "changes": study.differs(preset), "version": study.version, "config": study.model_dump(mode="json"),
        "paper": study.configured("paper").model_dump(mode="json"),
        "meanings": {name: field.description or "" for name, field in type(study).model_fields.items()},
    }  # fmt: skip
    if study.own_code:
        about["file"] = study.own_code.shown  # what relulab run needs to find the study again
    write_json(run.path / "config.json", about)


def _conclude(study: Study, run: Run, units: list[Unit]) -> None:
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
    write_json(run.path / "claims.json", [claim.to_dict() for claim in claims_of(study, result)])


def _caption(study: Study, name: str) -> str:
    """The caption of a figure; one for ``best`` also serves ``best-5x``."""
    return next((text for key, text in study.captions.items() if name == key or name.startswith(f"{key}-")), "")


def summary(run: Run) -> dict:
    """Return the study, preset, folder, seconds, seed-steps and claims of a finished run."""
    about, status = read_json(run.path / "config.json"), run.status
    return {
        "study": about["study"],
        "preset": about["preset"],
        "run": str(run.path),
        "seconds": status["seconds"],
        "seed_steps": status["seed_steps"],
        "claims": read_json(run.path / "claims.json"),
    }


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
