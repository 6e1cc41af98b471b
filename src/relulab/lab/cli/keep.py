"""Verbs that keep house: runs, clean."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.look import Json, print_json
from relulab.lab.cli.work import Runs


def runs_(runs: Runs = Path("runs"), json_: Json = False) -> None:
    """What runs there are: state, units, size and age."""
    from relulab.lab.store import runs_in

    rows = [_row(run) for run in runs_in(runs)]
    if json_:
        return print_json(rows)
    from relulab.lab.cli.tables import console, print_runs

    print_runs(rows) if rows else console.print(f"no runs in {runs}: relulab run SS.F7 makes one")


def clean(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Studies; all of them unless told.")
    ] = None,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Only runs that did not finish.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Remove runs, after asking. Runs that a process is working on stay."""
    from relulab.errors import UserError
    from relulab.lab.cli.tables import console, print_runs
    from relulab.lab.store import runs_in
    from relulab.lab.words import size

    names = _names(ids or [])
    rows = [(run, _row(run)) for run in runs_in(runs) if not names or run.path.parent.name in names]
    wanted = [(run, row) for run, row in rows if row["state"] != "running"]
    wanted = [(run, row) for run, row in wanted if not (unfinished and row["state"] == "finished")]
    if wanted and not yes:
        if json_ or not sys.stdin.isatty():
            raise UserError(f"clean would remove {len(wanted)} runs: say --yes where nobody can be asked")
        print_runs([row for _, row in wanted])
        typer.confirm(f"Remove these {len(wanted)} runs ({size(sum(r['bytes'] for _, r in wanted))})?", abort=True)
    for run, _ in wanted:
        shutil.rmtree(run.path)
    removed = [row["run"] for _, row in wanted]
    print_json({"removed": removed}) if json_ else console.print(f"removed {len(removed)} runs")


def _names(ids: list[str]) -> set[str]:
    if not ids:
        return set()
    from relulab.lab.catalogue import find_study

    return {find_study(id).name for id in ids}


def _row(run) -> dict:
    status = run.status
    return {
        "run": str(run.path), "study": run.path.parent.name, "state": run.state, "holder": run.holder,
        "done": status.get("done", 0), "units": status.get("units", 0), "bytes": run.size,
        "updated": status.get("updated"),
    }  # fmt: skip
