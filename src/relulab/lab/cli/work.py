"""Verbs that work: run, reproduce, report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relulab.lab.cli.complete import study_names
from relulab.lab.cli.generated import Json

if TYPE_CHECKING:
    from relulab.lab.run.engines import Engine
    from relulab.lab.study import Study

Preset = Annotated[str, typer.Option("--preset", "-p", help="smoke (seconds), quick (a minute or two) or paper.")]
Runs = Annotated[Path, typer.Option("--runs", help="Where runs are kept.")]
Workers = Annotated[int | None, typer.Option("--workers", "-j", min=1, help="Processes; one a core unless told.")]
EngineName = Annotated[str | None, typer.Option("--engine", "-e", help="local (processes of this machine) or dask.")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", help="Address of a dask scheduler; a local cluster unless told.")
]
Device = Annotated[str, typer.Option("--device", help="Where networks are trained, as cuda or cuda:1.")]
Patience = Annotated[
    float, typer.Option("--patience", min=1, help="Seconds without a step after which a worker counts as hung.")
]


def run(
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID...",
            help="Names or ids of studies, for instance SS.F7, or files with studies of your own, as my_study.py.",
            autocompletion=study_names,
        ),
    ],
    preset: Preset = "quick",
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="JSON or TOML file with fields to change.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", "-s", help="field=value, any number of times.")] = None,
    runs: Runs = Path("runs"),
    workers: Workers = None,
    engine: EngineName = None,
    scheduler: Scheduler = None,
    patience: Patience = 900,
    device: Device = "cpu",
    redraw: Annotated[bool, typer.Option(help="Make figures and claims again from the stored units.")] = False,
    json_: Json = False,
) -> None:
    """Run studies, or continue them where they stopped; a finished one answers at once."""
    from relulab.lab.index import entry

    for id in ids:
        if not id.endswith(".py"):
            entry(id, "study")  # a mistyped id is found before anything heavy is loaded
    from relulab.lab.catalog import find_study
    from relulab.lab.cli.terminal import print_json
    from relulab.lab.run.runner import check_ready
    from relulab.lab.run.settings import changes

    found = dict.fromkeys(find_study(id) for id in ids)
    # Everything is checked before anything runs.
    wanted = [study.configured(preset, changes(study, config, set_ or [])) for study in found]
    for study in wanted:
        check_ready(study, preset, runs, redraw)
    on = _engine(engine, scheduler, workers, patience, device)
    summaries = [_run(study, preset, runs, on, json_, redraw) for study in wanted]
    if json_:
        print_json(summaries[0] if len(summaries) == 1 else summaries)
    _exit(summaries, [])


def reproduce(
    preset: Preset = "quick",
    runs: Runs = Path("runs"),
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the report goes.")] = Path("report"),
    workers: Workers = None,
    engine: EngineName = None,
    scheduler: Scheduler = None,
    patience: Patience = 900,
    device: Device = "cpu",
    json_: Json = False,
) -> None:
    """The main job: every study whose data are there, every theorem, then the report."""
    from relulab.lab.catalog import studies, theorems
    from relulab.lab.cli.check import demonstrate
    from relulab.lab.cli.terminal import console, print_json, print_overview

    wanted, left_out = _ready([study.configured(preset) for study in studies().values()], preset, runs)
    on = _engine(engine, scheduler, workers, patience, device)
    summaries = [_run(study, preset, runs, on, json_) for study in wanted]
    checks = [demonstrate(theorem, runs) for theorem in theorems().values()]
    index = _report(runs, out)
    if json_:
        print_json({"runs": summaries, "left_out": left_out, "checks": checks, "report": str(index)})
    else:
        print_overview(summaries, checks)
        console.print(f"report: {index}")
    _exit(summaries, checks)


def _ready(wanted: "list[Study]", preset: str, runs: Path) -> "tuple[list[Study], list[dict[str, Any]]]":
    """The studies that can run, and those that lack data, each with the reason, which is also said."""
    from relulab.core.errors import UserError
    from relulab.lab.cli.terminal import errors
    from relulab.lab.run.runner import check_ready

    able, left_out = [], []
    for study in wanted:
        try:
            check_ready(study, preset, runs)
            able.append(study)
        except UserError as error:
            left_out.append({"study": study.name, "ids": list(study.ids), "why": str(error)})
            errors.print(f"{study.name} is left out: {error}", highlight=False, markup=False, soft_wrap=True)
    return able, left_out


def report(
    runs: Runs = Path("runs"),
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the report goes.")] = Path("report"),
    json_: Json = False,
) -> None:
    """Build the static report from the runs and checks that are there."""
    from relulab.lab.cli.terminal import print_json

    index = _report(runs, out)
    print_json({"report": str(index)}) if json_ else print(index)


def _engine(name: str | None, scheduler: str | None, workers: int | None, patience: float, device: str) -> "Engine":
    from relulab.core.errors import UserError, nearest
    from relulab.lab.run.engines.dask import Dask
    from relulab.lab.run.engines.local import Local

    name = name or ("dask" if scheduler else "local")
    if name not in ("local", "dask"):
        raise UserError(f"no engine {name!r}: {nearest(name, ('local', 'dask'))}")
    if scheduler and (name == "local" or workers):
        other = "--engine local" if name == "local" else f"--workers {workers}"
        raise UserError(f"leave out {other}: the workers are those of the dask cluster at {scheduler}")
    if device != "cpu" and not scheduler:  # a cluster may have what this machine lacks
        import torch

        from relulab.train.devices import found_device

        found_device(device, torch.device("cpu"))
    if name == "local":
        return Local(workers, patience, device=device)
    return Dask(scheduler, workers, patience, device=device)


def _run(
    study: "Study", preset: str, runs: Path, engine: "Engine", quiet: bool, redraw: bool = False
) -> dict[str, Any]:
    from relulab.lab.cli.progress import Bar
    from relulab.lab.cli.terminal import console, errors, print_run
    from relulab.lab.run.runner import run_study
    from relulab.lab.run.store import Run

    there = Run.of(study, preset, runs)
    if there.finished and not (quiet or redraw):
        errors.print(
            f"{study.name}: finished earlier ({there.status['updated']}), read from {there.path}", soft_wrap=True
        )
    try:
        bar = None if quiet else Bar()
        summary = run_study(study, preset=preset, runs=runs, engine=engine, watcher=bar, redraw=redraw)
    except KeyboardInterrupt:
        errors.print("interrupted: finished units are kept, the same command continues", highlight=False)
        raise
    if not quiet:
        console.print(f"[bold]{study.title}[/] ({study.source}), {preset}")
        print_run(summary)
        console.print()
    return summary


def _report(runs: Path, out: Path) -> Path:
    from relulab.lab.show.report import build

    return build(runs, out)


def _exit(summaries: list[dict], checks: list[dict]) -> None:
    from relulab.lab.cli.check import as_expected

    refuted = any(c["verdict"] == "REFUTED" for s in summaries for c in s["claims"])
    raise typer.Exit(1 if refuted or not as_expected(checks) else 0)
