"""The commands that compute: run, reproduce, report."""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relulab.core import interrupts
from relulab.lab.cli.complete import study_names
from relulab.lab.cli.generated import Json
from relulab.lab.cli.options import (
    CaFile,
    Certificate,
    Device,
    EngineName,
    Key,
    Out,
    Patience,
    Preset,
    Runs,
    Scheduler,
    Strict,
    Workers,
)

if TYPE_CHECKING:
    from relulab.lab.run.engines import Engine
    from relulab.lab.run.store import Run
    from relulab.lab.study import Study


def run(
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID",
            help="Names or ids of studies, for example SS.F7, or Python files with your own studies.",
            autocompletion=study_names,
        ),
    ],
    preset: Preset = "quick",
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="JSON or TOML file with the fields to change."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", metavar="FIELD=VALUE", help="Change a field, for example seeds=4. Can be repeated."
        ),
    ] = None,
    runs: Runs = Path("runs"),
    workers: Workers = None,
    engine: EngineName = None,
    scheduler: Scheduler = None,
    tls_ca_file: CaFile = None,
    tls_cert: Certificate = None,
    tls_key: Key = None,
    patience: Patience = 900,
    device: Device = "cpu",
    redraw: Annotated[
        bool, typer.Option(help="Make the figures and claims of a finished run again from its stored units.")
    ] = False,
    strict: Strict = False,
    json_: Json = False,
) -> None:
    """Run studies, or continue them where they stopped. The result of a finished run is read from its folder."""
    from relulab.lab.own_files import check_file
    from relulab.lab.run.requests import requested

    # Mistakes are reported, and finished runs are read, before anything slow is imported.
    for id in ids:
        if id.endswith(".py"):
            check_file(Path(id))
    named = _engine_name(engine, scheduler, workers)
    requests = {id: requested(id, preset, config, set_ or []) for id in ids if not id.endswith(".py")}
    answers = [requests[id].answered(runs, device) if id in requests and not redraw else None for id in ids]
    if all(answers):
        summaries = [_stored(run, json_) for run in dict.fromkeys(answers) if run]
    else:
        chosen_engine = partial(_engine, named, scheduler, (tls_ca_file, tls_cert, tls_key), workers, patience, device)
        how = {"redraw": redraw, "strict": strict}
        summaries = _run_all(ids, requests, preset, config, set_ or [], runs, chosen_engine, json_, how)
    if json_:
        from relulab.lab.cli.terminal import print_json

        print_json(summaries[0] if len(summaries) == 1 else summaries)
    _exit(summaries, [])


def _run_all(ids, requests, preset, config, assignments, runs, engine, quiet, how) -> list[dict[str, Any]]:
    """Run studies. Everything is checked before anything runs."""
    from relulab.lab.catalog import find_study
    from relulab.lab.run.runner import check_ready
    from relulab.lab.run.settings import changes
    from relulab.lab.run.store import Run

    kinds = {id: find_study(id) for id in ids}
    studies = {kind: kind.configured(preset, changes(kind, config, assignments)) for kind in kinds.values()}
    for study in studies.values():
        check_ready(study, preset, runs, how["redraw"])
    chosen_engine = engine()
    summaries = {kind: _run(study, preset, runs, chosen_engine, quiet, how) for kind, study in studies.items()}
    for id, request in requests.items():
        request.remember(Run(Path(summaries[kinds[id]]["run"])))
    return list(summaries.values())


def reproduce(
    preset: Preset = "quick",
    runs: Runs = Path("runs"),
    out: Out = Path("report"),
    workers: Workers = None,
    engine: EngineName = None,
    scheduler: Scheduler = None,
    tls_ca_file: CaFile = None,
    tls_cert: Certificate = None,
    tls_key: Key = None,
    patience: Patience = 900,
    device: Device = "cpu",
    strict: Strict = False,
    json_: Json = False,
) -> None:
    """Run every study whose data are available, check every theorem, and build the report."""
    from relulab.lab.catalog import theorems
    from relulab.lab.cli.check import demonstrate
    from relulab.lab.cli.terminal import console, print_json, print_overview
    from relulab.lab.run.answers import units_of

    ready, left_out = _ready(preset, runs)
    chosen_engine = _engine(engine, scheduler, (tls_ca_file, tls_cert, tls_key), workers, patience, device)
    summaries = []
    for study in sorted(ready, key=lambda study: sum(unit.flops for unit in units_of(study))):  # results appear early
        summaries.append(_run(study, preset, runs, chosen_engine, json_, {"strict": strict}))
        index = _report(runs, out)
        if len(summaries) == 1 and not json_:
            words = f"The report so far is in {index}; it is updated after each study.\n"
            console.print(words, markup=False)
    checks = [demonstrate(theorem, runs) for theorem in theorems().values()]
    index = _report(runs, out)
    if json_:
        print_json({"runs": summaries, "left_out": left_out, "checks": checks, "report": str(index)})
    else:
        print_overview(summaries, checks)
        console.print(f"report: {index}", markup=False)
    _exit(summaries, checks)


def _ready(preset: str, runs: Path) -> "tuple[list[Study], list[dict[str, Any]]]":
    """Return the studies that can run, and those without data or with an error, with the reason, which is printed."""
    from relulab.core.errors import UserError
    from relulab.lab.catalog import studies
    from relulab.lab.cli.terminal import errors
    from relulab.lab.run.runner import check_ready

    ready, left_out = [], []
    for kind in studies().values():
        try:
            study = kind.configured(preset)
            check_ready(study, preset, runs)
            ready.append(study)
        except UserError as error:
            left_out.append({"study": kind.name, "ids": list(kind.ids), "why": str(error)})
            errors.print(f"skipping {kind.name}: {error}", markup=False, soft_wrap=True)
    return ready, left_out


def report(
    runs: Runs = Path("runs"),
    out: Out = Path("report"),
    json_: Json = False,
) -> None:
    """Build a static report from the stored runs and checks."""
    from relulab.lab.cli.terminal import print_json

    index = _report(runs, out)
    print_json({"report": str(index)}) if json_ else print(index)


def _engine_name(name: str | None, scheduler: str | None, workers: int | None) -> str:
    """Return the name of the engine; raise a UserError if the options do not fit."""
    from relulab.core.errors import UserError, nearest

    name = name or ("dask" if scheduler else "local")
    if name not in ("local", "dask"):
        raise UserError(f"unknown engine {name!r}: {nearest(name, ('local', 'dask'))}")
    if scheduler and (name == "local" or workers):
        conflict = "--engine local" if name == "local" else f"--workers {workers}"
        raise UserError(f"{conflict} cannot be combined with --scheduler {scheduler}: leave out one of them")
    return name


def _engine(
    name: str | None, scheduler: str | None, tls: tuple[Path | None, ...], workers: int | None, patience: float,
    device: str,
) -> "Engine":  # fmt: skip
    from relulab.lab.run.engines.dask import Dask
    from relulab.lab.run.engines.local import Local

    name = _engine_name(name, scheduler, workers)
    if device != "cpu" and not scheduler:  # a cluster may have devices that this machine lacks
        import torch

        from relulab.train.devices import found_device

        found_device(device, torch.device("cpu"))
    if name == "local":
        return Local(workers, patience, device=device)
    from relulab.lab.run.engines.tls import Tls

    return Dask(scheduler, workers, patience, device=device, tls=Tls(*tls))


def _run(
    study: "Study", preset: str, runs: Path, engine: "Engine", quiet: bool, how: dict[str, bool]
) -> dict[str, Any]:
    from relulab.lab.cli.terminal import errors
    from relulab.lab.live_code import Incomparable
    from relulab.lab.run.runner import run_study
    from relulab.lab.run.store import Run
    from relulab.lab.show.run_bar import Messages, RunBar

    with suppress(Incomparable):
        stored = Run.of(study, preset, runs)
        if stored.finished and not (quiet or how.get("redraw")):
            _print_stored(stored)
    try:
        watcher = Messages() if quiet else RunBar()
        summary = run_study(study, preset=preset, runs=runs, engine=engine, watcher=watcher, **how)
    except BaseException as error:
        if not interrupts.behind(error):
            raise
        errors.print("interrupted: finished units are kept; run the same command again to continue")
        raise KeyboardInterrupt from error
    if not quiet:
        _print_summary(summary, study.title, study.source)
    return summary


def _stored(run: "Run", quiet: bool) -> dict[str, Any]:
    """Return the summary of a finished run; print it unless ``quiet``."""
    summary, about = run.summary, run.about
    if not quiet:
        _print_stored(run)
        _print_summary(summary, str(about.get("title")), str(about.get("source")))
    return summary


def _print_stored(run: "Run") -> None:
    from relulab.lab.cli.terminal import errors

    finished = run.status.get("updated", "at an unknown time")
    errors.print(
        f"{run.path.parent.name}: already finished ({finished}); reading the result from {run.path}",
        soft_wrap=True,
        markup=False,
    )


def _print_summary(summary: dict[str, Any], title: str, source: str) -> None:
    from rich.markup import escape

    from relulab.lab.cli.terminal import console, print_run

    console.print(f"[bold]{escape(title)}[/] ({escape(source)}), {escape(summary['preset'])}")
    print_run(summary)
    console.print()


def _report(runs: Path, out: Path) -> Path:
    from relulab.lab.show.report import build

    return build(runs, out)


def _exit(summaries: list[dict], checks: list[dict]) -> None:
    """Exit with 1 if a claim was refuted or a demonstration gave an unexpected verdict, else with 0."""
    from relulab.lab.cli.check import as_expected

    refuted = any(c["verdict"] == "REFUTED" for s in summaries for c in s["claims"])
    raise typer.Exit(1 if refuted or not as_expected(checks) else 0)
