"""The verb measure separability: does IB eq. (1) hold for a data set, and for the features of a network on it."""

from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.look import Json, print_json
from relulab.lab.cli.measure import Slope

Table = Annotated[Path, typer.Argument(help="Points with labels: .csv, .tsv, .parquet, .npz (X and y) or .npy.")]
Label = Annotated[
    str | None,
    typer.Option("--label", help="Column or array of labels, by name or number; else y, label, class or the last."),
]


def separability(
    file: Table,
    label: Label = None,
    network: Annotated[
        Path | None,
        typer.Option("--network", "-n", help="A network: features after every ReLU are measured too."),
    ] = None,
    slope: Slope = None,
    shape: Annotated[str | None, typer.Option("--shape", help="Of the pictures that rows are, as 1,28,28.")] = None,
    pairs: Annotated[int, typer.Option(help="How many of the worst pairs are shown.")] = 10,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Rows of the separable subsets and the worst pairs: .npz.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Cosines of pairs of equal and different labels: .png, .svg, .pdf.")
    ] = None,
    json_: Json = False,
) -> None:
    """Are all points of equal labels at acute angles, all of different ones not? Which pairs break it, how far?"""
    from relulab.io.network import load
    from relulab.io.tables import read_table
    from relulab.lab.cli.tables import working
    from relulab.lab.run.store import PICTURES, check_place, write_arrays, write_bytes
    from relulab.subjects.bias.instruments.separability import separability
    from relulab.subjects.bias.measurements.separability_report import arrays, picture, separability_row
    from relulab.subjects.bias.tools.features import features

    for path, endings in ((out, (".npz",)), (figure, PICTURES)):
        if path:
            check_place(path, endings)
    data = read_table(file, label)
    x = _shaped(data.X, shape)
    layers = {"input": data.X}
    if network:
        net = load(network, slope=slope).double()
        _check_pictures(net, x)
        layers = features(net, x)
    with working(f"looking at all pairs of {len(data.X):,} points …"):
        found = {name: separability(f, data.y, pairs=pairs) for name, f in layers.items()}
    document = {
        "data": str(file), "label": label, "network": str(network) if network else None,
        "labels": dict(zip("-+", data.names, strict=True)),
        "layers": [separability_row(name, one, data) for name, one in found.items()],
        "out": str(out) if out else None, "figure": str(figure) if figure else None,
    }  # fmt: skip
    if out:
        write_arrays(out, **arrays(found))
    if figure:
        from relulab.lab.show.figure import drawn

        write_bytes(figure, drawn(picture(layers, data), figure.suffix[1:]))
    if json_:
        return print_json(document)
    from relulab.lab.cli.measured_bias import print_separability

    print_separability(document)


def _shaped(X, shape: str | None):
    """Rows as pictures, for networks that take those."""
    from relulab.core.errors import UserError

    if shape is None:
        return X
    try:
        return X.reshape(len(X), *(int(word) for word in shape.split(",")))
    except (ValueError, RuntimeError):
        raise UserError(f"--shape {shape}: rows of {X.shape[1]} numbers do not have it; write 1,28,28, say") from None


def _check_pictures(net, x) -> None:
    """Rows for a network that takes pictures: how to say what they are. Only exported programs tell their shape."""
    from math import prod

    from relulab.core.errors import UserError

    sizes = getattr(net, "sizes", [])[1:]
    if x.dim() > 2 or len(sizes) < 2:
        return
    takes = ", ".join("any" if n is None else str(n) for n in sizes)
    said = f"rows of {x.shape[1]} numbers for a network that takes pictures of shape ({takes})"
    if None in sizes:
        raise UserError(f"{said}: say what shape the rows have, as --shape 1,28,28")
    if prod(sizes) != x.shape[1]:
        raise UserError(f"{said}, {prod(sizes)} numbers: no --shape makes one of the other")
    raise UserError(f"{said}: add --shape {','.join(map(str, sizes))}")
