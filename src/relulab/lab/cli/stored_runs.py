"""Verbs that keep house: runs, watch, clean."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.generated import Json
from relulab.lab.cli.work import Runs


def runs_(runs: Runs = Path("runs"), json_: Json = False) -> None:
    """What runs there are: state, units, size and age."""
    from relulab.lab.cli.terminal import console, print_json, print_runs
    from relulab.lab.run.store import runs_in

    rows = [_row(run) for run in runs_in(runs)]
    if json_:
        return print_json(rows)
    print_runs(rows) if rows else console.print(f"no runs in {runs}: relulab run SS.F7 makes one")


def watch(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A run's folder, or a study; the run under way unless told.")
    ] = None,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Follow a run from another terminal until it ends; with --json, say once how far it is."""
    import time

    from relulab.lab.cli.progress import Bar
    from relulab.lab.cli.terminal import console, errors, print_json
    from relulab.lab.run.meter import Progress

    found = _run_to_watch(run, runs)
    if json_:
        return print_json(_row(found) | {"progress": found.progress})
    errors.print(f"{found.path}: {found.holder or found.state}", highlight=False, markup=False, soft_wrap=True)
    bar = Bar()
    bar.bar.start()
    try:
        while found.holder:
            if found.progress:
                bar.moved(Progress(**found.progress))
            time.sleep(0.5)
    finally:
        bar.stop()
    row = _row(found)
    console.print(f"{row['run']}: {row['state']}, {row['done']} of {row['units']} units", markup=False)
    raise typer.Exit(0 if found.finished else 3)


def _run_to_watch(wanted: str | None, runs: Path):
    """A folder, the newest run of a study, or the newest that a process works on."""
    from relulab.core.errors import UserError
    from relulab.lab.run.store import Run, runs_in

    if wanted and (Path(wanted) / "config.json").is_file():
        return Run(Path(wanted))
    if wanted and (Path(wanted).is_dir() or "/" in wanted):
        raise UserError(f"{wanted} is no run's folder: relulab runs shows what there is")
    there = runs_in(runs)
    there = [run for run in there if run.path.parent.name in _names([wanted])] if wanted else there
    if not there:
        raise UserError(f"no run{f' of {wanted}' if wanted else ''} in {runs}: relulab run makes one")
    return max(there, key=lambda run: (run.holder is not None, run.status.get("updated", "")))


def clean(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Studies or runs' folders; all of them unless told.")
    ] = None,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Only runs that did not finish.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Remove runs, after asking. Runs that a process is working on stay."""
    from relulab.core.errors import UserError
    from relulab.lab.cli.terminal import console, print_json, print_runs
    from relulab.lab.show.words import size

    rows = [(run, _row(run)) for run in _chosen(ids or [], runs)]
    wanted = [(run, row) for run, row in rows if row["state"] != "running"]
    wanted = [(run, row) for run, row in wanted if not (unfinished and row["state"] == "finished")]
    if wanted and not yes:
        if json_ or not sys.stdin.isatty():
            raise UserError(f"clean would remove {len(wanted)} runs: say --yes where nobody can be asked")
        print_runs([row for _, row in wanted])
        typer.confirm(f"Remove these {len(wanted)} runs ({size(sum(r['bytes'] for _, r in wanted))})?", abort=True)
    removed = [row["run"] for run, row in wanted if run.remove()]
    print_json({"removed": removed}) if json_ else console.print(f"removed {len(removed)} runs")


def _chosen(ids: list[str], runs: Path) -> list:
    """The runs of some studies and those in some folders; all of them when none is named."""
    from relulab.lab.run.store import Run, runs_in

    if not ids:
        return runs_in(runs)
    folders = [id for id in ids if (Path(id) / "config.json").is_file()]
    names = _names([id for id in ids if id not in folders])
    return [*(Run(Path(id)) for id in folders), *(run for run in runs_in(runs) if run.path.parent.name in names)]


def _names(ids: list[str]) -> set[str]:
    if not ids:
        return set()
    from relulab.lab.catalog import find_study

    return {find_study(id).name for id in ids}


def _row(run) -> dict:
    status = run.status
    return {
        "run": str(run.path), "study": run.path.parent.name, "state": run.state, "holder": run.holder,
        "done": status.get("done", 0), "units": status.get("units", 0), "bytes": run.size,
        "updated": status.get("updated"),
    }  # fmt: skip
