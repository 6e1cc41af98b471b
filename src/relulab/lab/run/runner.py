"""Run a study from its configuration to its claims. Units that are already stored are not measured again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from relulab.core.errors import UserError
from relulab.core.explained import checks_itself
from relulab.core.progress_bar import watched
from relulab.core.value_words import shown
from relulab.lab.live_code import Incomparable
from relulab.lab.outside_code import blamed
from relulab.lab.own_code import FINDER
from relulab.lab.run.requests import requested
from relulab.lab.run.store import SCHEMA, Run
from relulab.lab.run.troubles import troubles_of
from relulab.lab.run.watchers import Silent, Watcher

if TYPE_CHECKING:
    from relulab.lab.run.engines import Engine
    from relulab.lab.study import Study


@checks_itself("study")
def run_study(
    study: Study | str | Path,
    *,
    preset: str | None = None,
    runs: Path = Path("runs"),
    engine: Engine | None = None,
    watcher: Watcher | None = None,
    progress: bool | None = None,
    redraw: bool = False,
    strict: bool = False,
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
        watcher: Receives the progress instead of a progress bar.
        progress: Whether to show the progress on stderr. By default in a terminal and in a notebook; elsewhere only
            messages are shown. With False, nothing is shown.
        redraw: Whether to make the figures, animations and claims of a finished run again from its stored units.
        strict: Whether to refuse to continue a run whose units were measured with other package versions, another
            commit of relulab or on another processor. Otherwise this is said, and recorded with each unit.

    Returns:
        The summary, which is the document that ``relulab run --json`` prints.
    """
    if FINDER.loading:  # its workers would import the file and wait for this run, which waits for them
        raise UserError(
            f"{FINDER.loading[-1].shown} calls run_study() when it is imported: run it as a script with python, or put "
            'the call under if __name__ == "__main__":'
        )
    request = None
    if isinstance(study, str | Path):
        preset, wanted = preset or "quick", str(study)
        request = None if wanted.endswith(".py") else requested(wanted, preset)
        answered = request.answered(Path(runs), _device(engine)) if request and not redraw else None
        if answered:
            return answered.summary
        from relulab.lab.catalog import find_study  # imports the study, and with it PyTorch

        study = find_study(wanted).configured(preset)
    study = _configured(study)
    preset, watcher = preset or study.nearest_preset(), watcher or _watcher(progress)
    try:
        run = Run.of(study, preset, Path(runs))
    except Incomparable as reason:
        watcher.say(f"{reason}; until then a later call does not find this run and measures all units again")
        run = Run.of(study, preset, Path(runs), uuid4().hex[:10])
    # A finished run that nobody works on is read without importing what it takes to make one.
    known = not redraw and run.schema == SCHEMA and run.device == _device(engine) and not run.holder and run.finished
    summary = run.summary if known else completed(study, run, preset, engine, watcher, redraw, strict)
    if request:
        request.remember(run)
    return summary


def _configured(study: object) -> Study:
    """Return a configured study, or refuse anything else."""
    from relulab.lab.study import Study

    if isinstance(study, type) and issubclass(study, Study):
        raise UserError(
            f"expected a configured study, got the class {study.__name__}: configure it first, "
            f"{study.__name__}.configured('quick')"
        )
    if not isinstance(study, Study):
        raise UserError(
            f"expected a study, or the name, id or Python file of one, got {shown(study)}: for example "
            "run_study('SS.F7')"
        )
    return study


def completed(
    study: Study, run: Run, preset: str, engine: Engine | None, watcher: Watcher, redraw: bool, strict: bool = False
) -> dict:
    """Complete a run of a configured study, unless it is finished, and return its summary."""
    from relulab.lab.run.engines.local import Local
    from relulab.lab.run.job import Job

    _check_units(study, run, redraw)
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
        if damaged := run.damages:
            watcher.say(f"{run.path}: {_listed(damaged)} missing or changed since the run finished: made again")
        if redraw or not run.finished:
            Job(study, run, preset, engine, watcher, strict).complete()
    return run.summary


def _listed(files: list[str]) -> str:
    more = f" and {len(files) - 3} more files" if len(files) > 3 else ""
    return f"{', '.join(files[:3])}{more} {'is' if len(files) == 1 else 'are'}"


def _device(engine: Engine | None) -> str:
    """Return the device that an engine trains on."""
    return getattr(engine, "device", "cpu")


def _watcher(progress: bool | None) -> Watcher:
    """Return what shows the progress by default."""
    if progress is False:
        return Silent()
    from relulab.lab.show.run_bar import Messages, RunBar

    return RunBar() if progress or watched() else Messages()


def check_ready(study: Study, preset: str, runs: Path, redraw: bool = False) -> None:
    """Raise a UserError if units must be measured and something they need is missing. Nothing is written."""
    try:
        run = Run.of(study, preset, runs)
    except Incomparable:  # it will be a new run
        run = None
    _check_units(study, run, redraw)


def _check_units(study: Study, run: Run | None, redraw: bool) -> None:
    from relulab.lab.run.answers import units_of

    def complete(run: Run) -> bool:
        return (run.finished and not redraw) or {unit.name for unit in units_of(study)} <= run.units.names()

    if run is None or not complete(run):
        with blamed(type(study).__module__, "in ready()"):
            study.ready()


def _check_device(study: Study, run: Run, engine: Engine, redraw: bool) -> None:
    """Raise a UserError if some units were computed on another device, because one result must not mix devices."""
    from relulab.lab.run.answers import units_of

    if run.device in (None, _device(engine)) or "env.json" in (run.damages or ()):
        return
    units = units_of(study)
    kept = len({unit.name for unit in units} & run.units.names())
    if kept and not (redraw and kept == len(units)):
        raise UserError(
            f"{run.path} has {kept} of {len(units)} units computed on {run.device}, but this command computes on "
            f"{_device(engine)}: use --device {run.device}, or choose another folder with --runs"
        )
