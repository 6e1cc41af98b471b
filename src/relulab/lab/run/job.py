"""Complete a run: measure the units that are missing, draw the figures and judge the claims."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from relulab.core import interrupts
from relulab.core.errors import UserError
from relulab.lab.outside_code import blamed
from relulab.lab.run.about import describe
from relulab.lab.run.answers import animations_of, claims_of, figures_of, units_of
from relulab.lab.run.documents import json_bytes, write_bytes, write_json
from relulab.lab.run.engines import Engine
from relulab.lab.run.environment import differences, environment, together
from relulab.lab.run.meter import Meter
from relulab.lab.run.result_file import encode
from relulab.lab.run.store import MOVING, Run
from relulab.lab.run.unit_file import UnitData
from relulab.lab.run.watchers import Watcher
from relulab.lab.show.animation import animated
from relulab.lab.show.figure import FORMATS, drawn, house_style
from relulab.lab.study import Study, Unit

STARTING = 5.0  # seconds for the workers to load torch, and for drawing
BEAT = 1.0  # seconds between two progress reports
TOO_SMALL = "the preset smoke only shows that the study runs; --preset quick is large enough for verdicts"


class Job:
    """Completes a run that this process has locked."""

    def __init__(self, study: Study, run: Run, preset: str, engine: Engine, watcher: Watcher, strict: bool = False):
        self.study, self.run, self.preset, self.engine, self.watcher = study, run, preset, engine, watcher
        run.prepare()
        self.units = units_of(study)
        self.stored, environments = run.units.read_small(self.units)
        self.todo = [unit for unit in self.units if unit.name not in environments]
        self.here = environment(getattr(engine, "device", "cpu"))
        self.compare_environments(list(environments.values()), strict)
        before = run.status
        # If nothing is measured, the recorded machine and number of processes stay those of the earlier run.
        self.workers = engine.crew(len(self.todo)) if self.todo else before.get("workers", 1)
        self.spent, self.begun, self.reported = before.get("seconds", 0.0), time.monotonic(), 0.0
        self.seed_steps = sum(unit.seed_steps for unit in self.units)
        self.meter = Meter(self.todo, len(self.units) - len(self.todo))

    def complete(self) -> None:
        """Measure the missing units, draw the figures and judge the claims."""
        describe(self.study, self.run, self.preset)
        if self.todo:
            if len(self.todo) == len(self.units):
                write_json(self.run.path / "env.json", together([self.here]))
            self.run.log(at=_now(), start=len(self.todo), workers=self.workers, commit=self.here["commit"])
        self.status("running")
        self.watcher.start(self.study, self.run, self.todo, self.meter.done, self.workers)
        try:
            self.engine.run(self.study, self.run, self.todo, self.on_unit, self.on_steps, self.watcher.say)
            files = _conclude(self.study, self.run, self.units, self.preset, self.stored)
        except BaseException as error:
            with suppress(OSError):  # the error may be that nothing can be written
                self.status("interrupted" if interrupts.behind(error) else "failed")
            raise
        finally:
            self.watcher.stop()
        self.status("finished")
        self.run.seal([*files, "config.json", "status.json"])

    def compare_environments(self, stored: list[dict[str, Any]], strict: bool) -> None:
        """Say if stored units were measured in another environment, or refuse to continue."""
        others = [words for one in stored if (words := differences(self.here, one))] if self.todo else []
        if not others:
            return
        now = f"now {', '.join(others[0])}"
        found = f"{len(others)} of {len(self.units)} units were measured in another environment ({now})"
        if strict:
            raise UserError(
                f"{self.run.path}: {found}: continue it in that environment, leave out --strict, or choose another "
                "folder with --runs"
            )
        self.watcher.say(f"{found}; the report will say so, and --strict refuses to mix environments")

    def on_unit(self, unit: Unit, seconds: float) -> None:
        self.meter.unit()
        self.run.log(at=_now(), unit=unit.name, seconds=round(seconds, 3), seed_steps=unit.seed_steps)
        self.report(finished=True)

    def on_steps(self, unit: Unit, seed_steps: int) -> None:
        self.meter.steps(unit, seed_steps)
        self.report()

    def report(self, finished: bool = False) -> None:
        """Show the progress and write it down: at most once per beat, because ten thousand units may be tiny."""
        due = time.monotonic() - self.reported > BEAT
        if due or self.meter.done == self.meter.units:
            self.reported = time.monotonic()
            if finished:
                self.status("running")
            with suppress(OSError):  # only needed by relulab watch
                write_json(self.run.path / "progress.json", self.meter.progress())
        if due or finished:
            self.watcher.moved(self.meter.progress())

    def status(self, state: str) -> None:
        seconds = self.spent + (time.monotonic() - self.begun if self.todo else 0)
        write_json(self.run.path / "status.json", {
            "state": state, "units": len(self.units), "done": self.meter.done, "seconds": round(seconds, 3),
            "workers": self.workers, "seed_steps": self.seed_steps, "updated": _now(),
        })  # fmt: skip


def _conclude(study: Study, run: Run, units: list[Unit], preset: str, stored: dict[str, UnitData]) -> list[str]:
    """Join the units, draw the figures and judge the claims; return the files that were written."""
    with blamed(type(study).__module__, "when the results of all units are joined"):
        result, environments = run.units.joined(units, stored)
    files = {"result.nc": encode(result)}
    with house_style():
        figures, animations = figures_of(study, result), animations_of(study, result)
    drawings = [{"figure": name, "caption": _caption(study, name)} for name in figures]
    moving = [
        {"animation": name, "words": animation.words, "caption": _caption(study, name)}
        for name, animation in animations.items()
    ]
    for name, figure in figures.items():
        files |= {f"figures/{name}.{ending}": drawn(figure, ending) for ending in FORMATS}
    for name, animation in animations.items():
        made = animated(animation)._asdict()
        files |= {f"figures/{name}.{MOVING[ending]}": content for ending, content in made.items()}
    claims = claims_of(study, result)
    if preset == "smoke":
        claims = [claim.unjudged(TOO_SMALL) for claim in claims]
    files |= {
        "figures.json": json_bytes([*drawings, *moving]),  # in the order of the study
        "claims.json": json_bytes([claim.to_dict() for claim in claims]),
        "env.json": json_bytes(together(environments)),
    }
    for name, content in files.items():
        write_bytes(run.path / name, content)
    return list(files)


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
