"""The verb measure max-margin: the two directions that IB theorem 1 speaks of, for a data set in a file."""

from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.look import Json, print_json
from relulab.lab.cli.separability import Label, Table


def max_margin(
    file: Table,
    label: Label = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="w_plus, w_minus, multipliers and rows of supports: .npz.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Points by w₊ᵀx and w₋ᵀx, supports ringed: .png, .svg or .pdf.")
    ] = None,
    json_: Json = False,
) -> None:
    """The max-margin vector of each class, its support examples, and whether IB theorem 1 speaks about the data."""
    from relulab.io.tables import read_table
    from relulab.lab.run.store import PICTURES, check_place, write_arrays, write_bytes
    from relulab.subjects.bias.instruments.max_margin import max_margin
    from relulab.subjects.bias.instruments.separability import separability
    from relulab.subjects.bias.measurements.max_margin_report import arrays, max_margin_rows, picture

    for path, endings in ((out, (".npz",)), (figure, PICTURES)):
        if path:
            check_place(path, endings)
    data = read_table(file, label)
    found = max_margin(data.X, data.y)
    separable = separability(data.X, data.y, pairs=0, subset=False)
    document = {
        "data": str(file), "labels": dict(zip("-+", data.names, strict=True)), "points": len(data.X),
        "columns": data.X.shape[1], **max_margin_rows(found, separable),
        "out": str(out) if out else None, "figure": str(figure) if figure else None,
    }  # fmt: skip
    if out:
        write_arrays(out, **arrays(found))
    if figure:
        from relulab.lab.show.figure import drawn

        write_bytes(figure, drawn(picture(found, data), figure.suffix[1:]))
    if json_:
        return print_json(document)
    from relulab.lab.cli.measured_bias import print_max_margin

    print_max_margin(document)
