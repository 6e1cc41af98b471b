"""The commands that manage stored runs: runs, watch, clean."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.generated import Json
from relulab.lab.cli.options import Runs


def runs_(runs: Runs = Path("runs"), json_: Json = False) -> None:
    """List the stored runs with their state, finished units, size and age."""
    from relulab.lab.cli.terminal import console, print_json, print_runs
    from relulab.lab.run.store import runs_in

    rows = [_row(run) for run in runs_in(runs)]
    if json_:
        return print_json(rows)
    print_runs(rows) if rows else console.print(
        f"no runs in the folder {runs}: start one, for example with relulab run SS.F7", markup=False
    )


def watch(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="Folder of a run, or name, id or file of a study. Default: the run in progress."
        ),
    ] = None,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Follow the progress of a run until it ends. With --json, print its current progress and exit."""
    import time

    from relulab.lab.cli.terminal import console, errors, print_json
    from relulab.lab.run.meter import Progress
    from relulab.lab.show.run_bar import RunBar

    watched = _run_to_watch(run, runs)
    if json_:
        return print_json(_row(watched) | {"progress": watched.progress})
    state = f"running by {watched.holder}" if watched.holder else watched.state
    errors.print(f"{watched.path}: {state}", markup=False, soft_wrap=True)
    bar = RunBar()
    bar.bar.start()
    try:
        while watched.holder:
            if watched.progress:
                bar.moved(Progress(**watched.progress))
            time.sleep(0.5)
    finally:
        bar.stop()
    row = _row(watched)
    console.print(f"{row['run']}: {row['state']}, {row['done']} of {row['units']} units", markup=False)
    raise typer.Exit(0 if watched.finished else 3)


def _run_to_watch(wanted: str | None, runs: Path):
    """Return the run in a folder, the newest run of a study, or the newest run in progress."""
    from relulab.core.errors import UserError
    from relulab.lab.run.store import Run, is_run, runs_in

    if wanted and is_run(Path(wanted)):
        return Run(Path(wanted))
    if wanted and (Path(wanted).is_dir() or ("/" in wanted and not wanted.endswith(".py"))):
        raise UserError(f"expected the folder of a run, got {wanted}: use `relulab runs` to list all runs")
    candidates = runs_in(runs)
    if wanted:
        candidates = _of_studies([wanted], candidates)
    if not candidates:
        what = f"run of {wanted}" if wanted else "run"
        raise UserError(f"no {what} in the folder {runs}: start one with relulab run {wanted or 'ID'}")
    return max(
        candidates, key=lambda run: (run.holder is not None, run.status.get("updated", ""))
    )  # text, by Run.status


def clean(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Names or ids of studies, or folders of runs. Default: all runs."),
    ] = None,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Remove only runs that did not finish.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Remove runs, after confirmation. Runs in progress are kept."""
    from relulab.core.errors import UserError
    from relulab.lab.cli.terminal import console, print_json, print_runs
    from relulab.lab.show.words import size

    kept_states = {"running", "finished"} if unfinished else {"running"}
    rows = [(run, _row(run)) for run in _chosen(ids or [], runs)]
    chosen = [(run, row) for run, row in rows if row["state"] not in kept_states]
    if chosen and not yes:
        if json_ or not sys.stdin.isatty():
            raise UserError(f"cannot ask for confirmation to remove {_count(chosen)} without a terminal: add --yes")
        print_runs([row for _, row in chosen])
        typer.confirm(f"Remove {_count(chosen)} ({size(sum(row['bytes'] for _, row in chosen))})?", abort=True)
    removed = [row["run"] for run, row in chosen if run.remove()]
    print_json({"removed": removed}) if json_ else console.print(f"removed {_count(removed)}")


def _chosen(ids: list[str], runs: Path) -> list:
    """Return the runs of some studies and those in some folders; all runs when ``ids`` is empty."""
    from relulab.core.errors import UserError
    from relulab.lab.run.store import MARKER, Run, is_run, runs_in

    if not ids:
        return runs_in(runs)
    folders = [id for id in ids if Path(id).is_dir()]
    for id in folders:
        if not is_run(Path(id)):
            raise UserError(f"{id} is a link, or it has no {MARKER}, so it is not a run and is left as it is")
    others = [id for id in ids if id not in folders]
    return [*(Run(Path(id)) for id in folders), *_of_studies(others, runs_in(runs))]


def _count(runs: list) -> str:
    return f"{len(runs)} run{'' if len(runs) == 1 else 's'}"


def _of_studies(ids: list[str], runs: list) -> list:
    """Return the runs of studies that are given by name, id or file, as the runs themselves have recorded them.

    A study of a script or a notebook is known from its runs only, and a script must not be run to find its name.
    """
    from relulab.lab.index import entry
    from relulab.lab.own_files import check_file

    chosen = []
    for id in ids:
        of_study = [run for run in runs if id.lower() in run.names or (id.endswith(".py") and _is_file(run, id))]
        if id.endswith(".py"):
            check_file(Path(id))
        elif not of_study:
            name = entry(id, "study").name  # reports a mistyped name
            of_study = [run for run in runs if run.path.parent.name == name]
        chosen += [run for run in of_study if run not in chosen]
    return chosen


def _is_file(run, path: str) -> bool:
    """Whether a run is of the study in a file."""
    file = run.about.get("file")
    return isinstance(file, str) and Path(file).absolute() == Path(path).absolute()


def _row(run) -> dict:
    """Return the row of a run in ``relulab runs --json``."""
    status = run.status
    return {
        "run": str(run.path), "study": run.path.parent.name, "state": run.state, "holder": run.holder,
        "done": status.get("done", 0), "units": status.get("units", 0), "bytes": run.size,
        "updated": status.get("updated"),
    }  # fmt: skip
