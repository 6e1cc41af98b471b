"""The verb measure strength: what checkpoints of a student tell of its training."""

import re
from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.look import Json, print_json
from relulab.lab.cli.measure import Data, Network, Slope, points


def strength(
    teacher: Network,
    checkpoints: Annotated[list[Path], typer.Argument(help="The student's checkpoints, in the order of training.")],
    data: Data,
    slope: Slope = None,
    threshold: Annotated[float, typer.Option(help="Correlation from which a node counts as recovered.")] = 0.95,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Best correlations over the checkpoints: .png, .svg or .pdf.")
    ] = None,
    json_: Json = False,
) -> None:
    """Which teacher nodes are strong, when each was recovered and by which student, and how often students shifted."""
    from relulab.core.errors import UserError
    from relulab.io.network import load
    from relulab.lab.run.store import PICTURES, check_place, write_bytes
    from relulab.subjects.specialization.instruments.history import focus_shifts, history, picture

    if figure:
        check_place(figure, PICTURES)
    if not 0 < threshold < 1:
        raise UserError(f"--threshold {threshold:g}: a correlation between 0 and 1")
    checkpoints = _in_order(checkpoints)
    nets = [load(path, slope=slope).double() for path in (teacher, *checkpoints)]
    found = history(nets[0], nets[1:], points(data, *nets))
    layers = [
        {"layer": one.layer, "nodes": one.rows(threshold), "shifts": focus_shifts(one.rho).tolist()} for one in found
    ]
    document = {
        "teacher": str(teacher), "checkpoints": [str(path) for path in checkpoints], "data": str(data),
        "threshold": threshold, "layers": layers, "figure": str(figure) if figure else None,
    }  # fmt: skip
    if figure:
        from relulab.lab.show.figure import drawn

        write_bytes(figure, drawn(picture(found, document["checkpoints"]), figure.suffix[1:]))
    if json_:
        return print_json(document)
    from relulab.lab.cli.measured import print_history

    print_history(document)


def _in_order(paths: list[Path]) -> list[Path]:
    """Files that a shell has sorted letter by letter, with epoch10 before epoch2, by their numbers; others as given."""
    natural = sorted(paths, key=lambda path: [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", str(path))])
    if paths == natural or [str(p) for p in paths] != sorted(str(p) for p in paths):
        return paths
    from relulab.lab.cli.tables import errors

    errors.print(f"checkpoints by their numbers: {natural[0].name} … {natural[-1].name}", highlight=False)
    return natural
