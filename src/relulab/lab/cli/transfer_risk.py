"""The verb measure transfer-risk: how many points a student of a linear teacher needs, for points in a file."""

from pathlib import Path
from typing import Annotated

import typer

from relulab.lab.cli.look import Json, print_json

MOST = 1_000_000  # transfer sets


def transfer_risk(
    file: Annotated[
        Path, typer.Argument(help="Points, one a row: .npy, .npz, .safetensors, .csv, .tsv, .parquet; all columns.")
    ],
    teacher: Annotated[
        Path | None, typer.Option("--teacher", help="Weights of a linear teacher: .npy, .npz, .safetensors, .pt.")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Instead: column or array with the teacher's soft labels.")
    ] = None,
    n: Annotated[str | None, typer.Option("--n", help="Numbers of points of a transfer set, as 1,2,5,10.")] = None,
    sets: Annotated[int, typer.Option(help="Transfer sets of which the risk is the mean.")] = 100,
    confidence: Annotated[float, typer.Option(help="Of the band about the angles and of intervals.")] = 0.95,
    risk: Annotated[float, typer.Option(help="A risk that is wanted: how many points do?")] = 0.05,
    tight: Annotated[bool, typer.Option("--tight", help="The bound as the proof has it before its last step.")] = False,
    seed: Annotated[int, typer.Option(help="Of the transfer sets.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The curve, both bounds, every row's angle, the teacher: .npz.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Angles, and risk against n: .png, .svg or .pdf.")
    ] = None,
    json_: Json = False,
) -> None:
    """How many points do I need to distil a linear teacher? Angles, bound (T5 theorem 5.3) and measured risk."""
    from relulab.core.errors import UserError
    from relulab.lab.cli.tables import working
    from relulab.lab.run.store import PICTURES, check_place, write_arrays, write_bytes
    from relulab.subjects.distillation.measurements.transfer_report import arrays, transfer_report, transfer_rows

    for path, endings in ((out, (".npz",)), (figure, PICTURES)):
        if path:
            check_place(path, endings)
    if not 2 <= sets <= MOST:
        raise UserError(f"--sets {sets}: from 2, that there is a mean with an error, to {MOST:,}")
    if not 0 < risk <= 1:
        raise UserError(f"--risk {risk:g}: a number above 0, at most 1, was expected")
    sizes = _whole_numbers(n)
    X, w, bias = read_transfer(file, teacher, label)
    sizes, dropped = _cut(sizes, len(X))
    cut_at = max(1, len(X) // 4) if n is None and len(X) // 2 <= X.shape[1] else None
    with working(f"distilling {sets:,} students of points of {file.name} …"):
        found = transfer_report(X, w, sizes, sets=sets, confidence=confidence, seed=seed)
    document = {
        "data": str(file), "teacher": str(teacher) if teacher else None, "label": label, "bias": bias,
        **transfer_rows(found, risk=risk, tight=tight), "sets": sets, "seed": seed,
        "dropped": dropped, "cut_at": cut_at,
        "out": str(out) if out else None, "figure": str(figure) if figure else None,
    }  # fmt: skip
    if out:
        write_arrays(out, **arrays(found))
    if figure:
        from relulab.lab.show.figure import drawn
        from relulab.subjects.distillation.measurements.transfer_picture import picture

        write_bytes(figure, drawn(picture(found, risk), figure.suffix[1:]))
    if json_:
        return print_json(document)
    from relulab.lab.cli.measured_distillation import print_transfer_risk

    print_transfer_risk(document)


def read_transfer(file: Path, teacher: Path | None, label: str | None):
    """The points, the teacher's weights, and whether the last of those is a bias."""
    import numpy as np

    from relulab.core.errors import UserError
    from relulab.io.linear_teacher import read_linear_teacher, with_ones
    from relulab.io.tables import read_features
    from relulab.subjects.distillation.tools.transfer import from_labels

    if (teacher is None) == (label is None):
        given = "neither --teacher nor --label" if teacher is None else "both --teacher and --label"
        raise UserError(f"{given}: one is needed, a file of weights or a column with the teacher's soft labels")
    X, y = read_features(file, label)
    if teacher is not None:
        w = read_linear_teacher(teacher, X.shape[1])
        return with_ones(X, w), w, len(w) > X.shape[1]
    if y.dtype.kind not in "fiub":
        raise UserError(f"{file}: {label} has words, numbers between 0 and 1 were expected, the teacher's soft labels")
    try:
        return *from_labels(X, y), False
    except UserError as error:
        try:  # perhaps a teacher with a bias
            return *from_labels(np.column_stack([X, np.ones(len(X))]), y), True
        except UserError:
            raise error from None


def _whole_numbers(words: str | None) -> list[int] | None:
    from relulab.core.errors import UserError

    if words is None:
        return None
    try:
        found = sorted({int(word) for word in words.split(",")})
    except ValueError:
        found = [0]
    if found[0] < 1:
        raise UserError(f"--n {words}: whole numbers from 1 were expected, parted by commas, as 1,2,5,10")
    return found


def _cut(sizes: list[int] | None, N: int) -> tuple[list[int] | None, list[int]]:
    """The sizes that leave 2 of N points to count errors on, and the others."""
    from relulab.core.errors import UserError

    if sizes is None or N < 3:
        return sizes, []
    if sizes[0] > N - 2:
        raise UserError(f"--n {sizes[0]} of {N} points: 2 at least must be left to count errors on, so at most {N - 2}")
    return [n for n in sizes if n <= N - 2], [n for n in sizes if n > N - 2]
