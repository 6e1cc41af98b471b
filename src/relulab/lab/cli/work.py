"""Verbs that work: run, reproduce, report, check."""

from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.look import Json, print_json
from relulab.lab.cli.measure import Slope, points, print_finding
from relulab.lab.cli.separability import Label

Preset = Annotated[str, typer.Option("--preset", "-p", help="smoke (seconds), quick (a minute or two) or paper.")]
Runs = Annotated[Path, typer.Option("--runs", help="Where runs are kept.")]
Workers = Annotated[int | None, typer.Option("--workers", "-j", min=1, help="Processes; one a core unless told.")]
EngineName = Annotated[str | None, typer.Option("--engine", "-e", help="local (processes of this machine) or dask.")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", help="Address of a dask scheduler; a local cluster unless told.")
]
Patience = Annotated[
    float, typer.Option("--patience", min=1, help="Seconds without a step after which a worker counts as hung.")
]


def run(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Names or ids of studies, for instance SS.F7.")],
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
    redraw: Annotated[bool, typer.Option(help="Make figures and claims again from the stored units.")] = False,
    json_: Json = False,
) -> None:
    """Run studies, or continue them where they stopped; a finished one answers at once."""
    from relulab.lab.catalogue import find_study
    from relulab.lab.run.runner import check_ready
    from relulab.lab.run.settings import changes

    # Everything is checked before anything runs.
    found = dict.fromkeys(find_study(id) for id in ids)
    wanted = [study.configured(preset, changes(study, config, set_ or [])) for study in found]
    for study in wanted:
        check_ready(study, preset, runs, redraw)
    on = _engine(engine, scheduler, workers, patience)
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
    json_: Json = False,
) -> None:
    """The main job: every study whose data are there, every theorem, then the report."""
    from relulab.lab.catalogue import studies, theorems

    wanted, left_out = _ready([study.configured(preset) for study in studies().values()], preset, runs)
    on = _engine(engine, scheduler, workers, patience)
    summaries = [_run(study, preset, runs, on, json_) for study in wanted]
    checks = [_check(theorem, runs) for theorem in theorems().values()]
    index = _report(runs, out)
    if json_:
        print_json({"runs": summaries, "left_out": left_out, "checks": checks, "report": str(index)})
    else:
        from relulab.lab.cli.tables import console, print_overview

        print_overview(summaries, checks)
        console.print(f"report: {index}")
    _exit(summaries, checks)


def _ready(wanted: list, preset: str, runs: Path) -> tuple[list, list[dict]]:
    """The studies that can run, and those that lack data, each with the reason, which is also said."""
    from relulab.core.errors import UserError
    from relulab.lab.cli.tables import errors
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
    index = _report(runs, out)
    print_json({"report": str(index)}) if json_ else print(index)


def check(
    id: Annotated[str, typer.Argument(metavar="THEOREM", help="A theorem's id or name, for instance SS.L1.")],
    teacher: Annotated[Path | None, typer.Option("--teacher", help="A network of yours, from a file.")] = None,
    student: Annotated[Path | None, typer.Option("--student", help="Another one.")] = None,
    network: Annotated[
        Path | None, typer.Option("--network", help="One trained on labelled data, for theorems on those.")
    ] = None,
    start: Annotated[Path | None, typer.Option("--start", help="What it was before training.")] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", "-d", help="Points: .npy, .npz, .safetensors; labelled: .csv, .parquet too."),
    ] = None,
    label: Label = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="A setting of the check on files, as epsilon=0.05.")
    ] = None,
    slope: Slope = None,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Run a theorem's demonstrations, or check it on networks and data of your own."""
    from relulab.lab.catalogue import find_theorem

    theorem = find_theorem(id)
    files = {"teacher": teacher, "student": student, "network": network, "start": start, "data": data}
    given = {name: path for name, path in files.items() if path}
    if given or label or set_:
        return print_finding(_check_files(theorem, given, label, slope, set_ or []), json_)
    document = _check(theorem, runs)
    if json_:
        print_json(document)
    else:
        from relulab.lab.cli.tables import print_check

        print_check(document)
    _exit([], [document])


def _engine(name: str | None, scheduler: str | None, workers: int | None, patience: float):
    from relulab.core.errors import UserError, nearest
    from relulab.lab.run.engines.dask import Dask
    from relulab.lab.run.engines.local import Local

    name = name or ("dask" if scheduler else "local")
    if name not in ("local", "dask"):
        raise UserError(f"no engine {name!r}: {nearest(name, ('local', 'dask'))}")
    if scheduler and (name == "local" or workers):
        other = "--engine local" if name == "local" else f"--workers {workers}"
        raise UserError(f"leave out {other}: the workers are those of the dask cluster at {scheduler}")
    return Local(workers, patience) if name == "local" else Dask(scheduler, workers, patience)


def _run(study, preset: str, runs: Path, engine, quiet: bool, redraw: bool = False) -> dict:
    from relulab.lab.cli.progress import Bar
    from relulab.lab.cli.tables import console, errors, print_run
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


def _check_files(theorem, given: dict[str, Path], label: str | None, slope: float | None, words: list[str]) -> dict:
    """The theorem on files: networks and points, or labelled data and a network trained on them."""
    from relulab.core.errors import UserError
    from relulab.io.network import load
    from relulab.lab.cli.tables import working
    from relulab.lab.run.settings import assigned

    if not theorem.on_files:
        raise UserError(f"{theorem.id} speaks of no files: relulab check {theorem.id} alone")
    *most, last = (f"--{name}" for name in theorem.files)
    wants = f"all of {', '.join(most)} and {last}" if most else last
    instead = {"teacher"} if theorem.of_transfer and label else set()  # soft labels tell the teacher
    if not set(theorem.files) - instead <= set(given):
        raise UserError(f"{theorem.id} needs {wants}{', or --data and --label' if theorem.of_transfer else ''}")
    wrong = [name for name in given if name not in (*theorem.files, *theorem.optional_files)]
    wrong += ["label"] if label and theorem.of_networks else []
    wrong += ["slope"] if slope is not None and theorem.of_transfer else []
    if wrong:
        perhaps = "".join(f", perhaps --{name}" for name in theorem.optional_files)
        raise UserError(f"{theorem.id} takes {wants}{perhaps}, not --{wrong[0]}")
    if words and "network" in given:
        raise UserError(f"--set {words[0]}: settings are those of a flow of our own, leave out --set or --network")
    settings = theorem.settings(assigned(words, "epsilon=0.05"))
    if theorem.of_transfer:
        return _check_transfer(theorem, given, label, settings)
    nets = {name: load(path, slope=slope) for name, path in given.items() if name != "data"}
    if theorem.of_table:
        from relulab.io.tables import read_table

        data, check = [read_table(given["data"], label)], theorem.of_table
    else:
        data, check = [*nets.values(), points(given["data"], *nets.values())], theorem.of_networks
        nets = {}
    with working(f"checking {theorem.id} on {given['data'].name} …"):
        finding = check(*data, **nets, **settings)
    return {"theorem": theorem.id, **{name: str(path) for name, path in given.items()}, **finding.to_dict()}


def _check_transfer(theorem, given: dict[str, Path], label: str | None, settings: dict) -> dict:
    """The theorem on points and a linear teacher, from its weights or its soft labels."""
    from relulab.lab.cli.tables import working
    from relulab.lab.cli.transfer_risk import read_transfer

    X, w_star, _ = read_transfer(given["data"], given.get("teacher"), label)
    with working(f"checking {theorem.id} on {given['data'].name} …"):
        finding = theorem.of_transfer(X, w_star, **settings)
    return {"theorem": theorem.id, **{name: str(path) for name, path in given.items()}, **finding.to_dict()}


def _check(theorem, runs: Path) -> dict:
    """The demonstrations, kept for the report."""
    from relulab.lab.cli.tables import errors, working
    from relulab.lab.run.store import write_json

    with working(f"checking {theorem.id} …"):
        document = theorem.demonstrate()
    about = {"title": theorem.title, "statement": theorem.statement, "source": theorem.source}
    try:
        (runs / "checks").mkdir(parents=True, exist_ok=True)
        write_json(runs / "checks" / f"{theorem.id}.json", document | about)
    except OSError as error:
        errors.print(f"not kept for the report: {runs}: {error.strerror}", highlight=False, soft_wrap=True)
    return document


def _report(runs: Path, out: Path) -> Path:
    from relulab.lab.show.report import build

    return build(runs, out)


def _exit(summaries: list[dict], checks: list[dict]) -> None:
    refuted = any(c["verdict"] == "REFUTED" for s in summaries for c in s["claims"])
    unexpected = any(d["expected"] != d["verdict"] for check in checks for d in check["demonstrations"])
    raise typer.Exit(1 if refuted or unexpected else 0)
