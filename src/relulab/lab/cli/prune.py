"""The verb prune: a smaller network that does the same."""

from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.look import Json, print_json
from relulab.lab.cli.measure import Data, Slope, points


def prune(
    student: Annotated[Path, typer.Argument(help="A two-layer network: .safetensors, .npz, .pt or .pth.")],
    data: Data,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where the smaller one goes: .safetensors.")] = None,
    teacher: Annotated[Path | None, typer.Option("--teacher", help="Nodes that follow its nodes stay first.")] = None,
    epsilon: Annotated[float, typer.Option(help="Nodes aligned up to this are merged.")] = 1e-6,
    keep: Annotated[int | None, typer.Option(help="How many nodes to keep, instead of --tolerance.")] = None,
    tolerance: Annotated[float, typer.Option(help="Share of the output's variance that may be lost.")] = 1e-12,
    refit: Annotated[bool, typer.Option(help="Fit the top weights of what is left.")] = False,
    slope: Slope = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="The curve of what is lost against kept nodes: .png, .svg or .pdf.")
    ] = None,
    json_: Json = False,
) -> None:
    """Merge hidden nodes that share a hyperplane, drop those that add nothing, and say what that changes."""
    from relulab.io.network import load, save
    from relulab.lab.run.store import PICTURES, check_place, write_bytes
    from relulab.subjects.specialization import pruning
    from relulab.subjects.specialization.measurements.pruning_report import group_rows, picture

    for path, endings in ((out, (".safetensors",)), (figure, PICTURES)):
        if path:
            check_place(path, endings)
    net, star = load(student, slope=slope), load(teacher, slope=slope) if teacher else None
    found = pruning.prune(
        net, points(data, net), epsilon=epsilon, keep=keep, tolerance=tolerance, refit=refit, teacher=star
    )
    document = {
        "student": str(student), "data": str(data), "nodes": net.widths[1], "groups": group_rows(found, star),
        "kept": found.net.widths[1], "lost": found.lost, "largest": found.largest, "bound": found.bound,
        "curve": [{"kept": n, "lost": lost} for n, lost in found.curve], "out": str(out) if out else None,
        "figure": str(figure) if figure else None,
    }  # fmt: skip
    if out:
        save(found.net.to(net.dtype), out)
    if figure:
        from relulab.lab.show.figure import drawn

        write_bytes(figure, drawn(picture(found), figure.suffix[1:]))
    if json_:
        return print_json(document)
    from relulab.lab.cli.measured import print_pruned

    print_pruned(document)
