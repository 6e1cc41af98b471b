"""Runs a study from configuration to claims: what is missing is measured, the rest is read."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from relulab.lab.catalogue import find_study
from relulab.lab.engines.local import run_units
from relulab.lab.environment import cores, environment
from relulab.lab.figure import FORMATS, house_style, save
from relulab.lab.store import Run, atomic, read_json, write_dataset, write_json
from relulab.lab.study import Study, Unit

STARTING = 5.0  # seconds until the workers have loaded torch, and for drawing


@runtime_checkable
class Progress(Protocol):
    """What a user sees while a run goes on."""

    def waiting(self, run: Run, holder: str) -> None: ...
    def start(self, study: Study, run: Run, todo: list[Unit], kept: int, workers: int) -> None: ...
    def steps(self, seed_steps: int) -> None: ...
    def unit(self, unit: Unit, seconds: float) -> None: ...
    def stop(self) -> None: ...


class Silent:
    """No progress shown."""

    def waiting(self, run, holder) -> None: ...
    def start(self, study, run, todo, kept, workers) -> None: ...
    def steps(self, seed_steps) -> None: ...
    def unit(self, unit, seconds) -> None: ...
    def stop(self) -> None: ...


def run_study(
    study: Study | str,
    *,
    preset: str | None = None,
    runs: Path = Path("runs"),
    workers: int | None = None,
    progress: Progress | None = None,
    redraw: bool = False,
) -> dict:
    """Runs or continues ``study`` and returns its summary, the document that ``relulab run --json`` prints.

    ``study`` is a configured study, or a name or id, which stands for the preset, ``quick`` if none is given. The run
    is named after ``preset``, or the preset that the study differs least from. With ``redraw`` the figures and claims
    of a finished run are made again from its stored units.
    """
    if isinstance(study, str):
        preset = preset or "quick"
        study = find_study(study).configured(preset)
    preset = preset or study.nearest_preset()
    run, progress = Run.of(study, preset, Path(runs)), progress or Silent()
    with run.held(lambda holder: progress.waiting(run, holder)):
        if redraw or not run.finished:
            _complete(study, run, preset, workers, progress)
    return summary(run)


def _complete(study: Study, run: Run, preset: str, workers: int | None, progress: Progress) -> None:
    """Measures the units that are missing, then draws and judges; the run is held by this process."""
    units = study.units()
    todo = [unit for unit in units if not run.has(unit)]
    before = run.status
    # Without anything to measure, the machine and the processes of the earlier run stay on record.
    workers = min(workers or cores(), len(todo)) or before.get("workers", 1)
    spent = before.get("seconds", 0.0)
    _describe(study, run, preset)
    if todo:
        machine = environment()
        write_json(run.path / "env.json", machine)
        run.log(at=_now(), start=len(todo), workers=workers, commit=machine["commit"])
    begun = time.perf_counter()

    def status(state: str, done: int) -> None:
        seconds = spent + (time.perf_counter() - begun if todo else 0)
        write_json(run.path / "status.json", {
            "state": state, "units": len(units), "done": done, "seconds": round(seconds, 3), "workers": workers,
            "seed_steps": sum(unit.seed_steps for unit in units), "updated": _now(),
        })  # fmt: skip

    done = len(units) - len(todo)

    def on_unit(unit: Unit, seconds: float) -> None:
        nonlocal done
        done += 1
        run.log(at=_now(), unit=unit.name, seconds=round(seconds, 3), seed_steps=unit.seed_steps)
        status("running", done)
        progress.unit(unit, seconds)

    status("running", done)
    progress.start(study, run, todo, done, workers)
    try:
        run_units(study, run, todo, workers, on_unit, progress.steps)
        _conclude(study, run, units)
    except BaseException as error:
        status("interrupted" if isinstance(error, KeyboardInterrupt) else "failed", done)
        raise
    finally:
        progress.stop()
    status("finished", done)


def _describe(study: Study, run: Run, preset: str) -> None:
    """Everything that the report needs to know of a study without importing it."""
    about = {
        "study": study.name, "title": study.title, "ids": list(study.ids), "source": study.source,
        "about": (type(study).__doc__ or "").strip(), "remarks": study.remarks, "preset": preset,
        "changes": study.differs(preset), "version": study.version, "config": study.model_dump(mode="json"),
        "paper": study.configured("paper").model_dump(mode="json"),
    }  # fmt: skip
    write_json(run.path / "config.json", about)


def _conclude(study: Study, run: Run, units: list[Unit]) -> None:
    result = run.joined(units)
    write_dataset(run.path / "result.nc", result)
    with house_style():
        figures = study.figures(result)
    write_json(run.path / "figures.json", list(figures))  # in the order that the study shows them
    for name, figure in figures.items():
        for ending in FORMATS:
            with atomic(run.path / "figures" / f"{name}.{ending}") as part:
                save(figure, part, ending)
    write_json(run.path / "claims.json", [claim.to_dict() for claim in study.claims(result)])


def summary(run: Run) -> dict:
    """Study, preset, run, seconds, seed-steps and claims of a finished run."""
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
    """A rough forecast: flops at 45 % of the measured rate of a large matrix product on one core, and the start."""
    return STARTING + sum(unit.flops for unit in todo) / (0.45 * rate() * workers) if todo else 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
