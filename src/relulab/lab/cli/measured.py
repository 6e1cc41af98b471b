"""Run a measurement from the command line. Output paths are checked first and written last."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from relulab.core.errors import UserError
from relulab.lab.catalog import find_measurement
from relulab.lab.cli.terminal import print_json, print_parts, working
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.outside_code import blamed, expected, outside
from relulab.lab.run.documents import PICTURES, write_arrays, write_bytes
from relulab.lab.theorem import Verdict


def run_measurement(
    name: str, options: Mapping[str, Any], out: Path | None, figure: Path | None, as_json: bool
) -> None:
    """Measure, write the requested files, and print the answer.

    Args:
        name: The name of the measurement.
        options: The options that were given, as text.
        out: The file for the numbers, or None.
        figure: The file for the figure, or None.
        as_json: Whether to print a JSON document instead of text and tables.
    """
    kind = find_measurement(name)
    outcome = _outcome(kind, options)
    files = {"out": out} if kind.endings else {}
    files |= {"figure": figure} if kind.drawn else {}
    for path in filter(None, files.values()):
        write(outcome, path)
    written = {name: str(path) if path else None for name, path in files.items()}
    if as_json:
        print_json(outcome.document | written)
    else:
        print_parts(outcome.parts)
        _print_files(kind, out, figure)
    if outcome.verdict not in (None, Verdict.HOLDS):
        raise typer.Exit(1)


def _outcome(kind: type[Measurement], options: Mapping[str, Any]) -> Outcome:
    """Measure. An error in code from outside relulab names its file and line."""
    if missing := sorted(kind.__abstractmethods__):
        raise UserError(f"{kind.__module__}, class {kind.__name__}: the method {missing[0]}() is missing: add it")
    with blamed(kind.__module__, "in measure()"):
        measurement = kind.given(**options)
        with working(measurement.busy()):
            outcome = measurement.measure()
        expected(f"{kind.name}: measure()", Outcome, outcome)
        outcome = outcome.with_notes(measurement.notes)
        if outside(kind.__module__):
            json.dumps(outcome.document, allow_nan=False)
    return outcome


def write(outcome: Outcome, path: Path) -> None:
    """Write the part of an outcome that belongs to the ending of a path."""
    if path.suffix in outcome.files:
        write_bytes(path, outcome.files[path.suffix]())
    elif path.suffix in PICTURES and outcome.picture:
        from relulab.lab.show.figure import drawn

        write_bytes(path, drawn(outcome.picture(), path.suffix[1:]))
    elif outcome.arrays:
        write_arrays(path, **outcome.arrays())
    else:
        raise UserError(f"cannot write {path}: this measurement has no {path.suffix} output")


def _print_files(kind: type[Measurement], out: Path | None, figure: Path | None) -> None:
    if kind.endings:
        hint = f"Add --out FILE{kind.endings[0]} to save {kind.kept}"
        print_parts([f"Wrote {out}: {kind.kept}" if out else hint])
    if figure:
        print_parts([f"Wrote {figure}: {kind.drawn}"])
