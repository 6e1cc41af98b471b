"""Read points and labels from a data file of any format; every reader and every measurement uses this function."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.io.data_checks import check_finite, check_numeric, check_shape, complete_rows
from relulab.io.data_formats import read_contents
from relulab.io.data_parts import chosen_parts
from relulab.io.selection import Names, Selection, class_rows, plain_labels


@dataclass(frozen=True)
class Data:
    """What was read from a data file.

    Args:
        points: Points, (N, d), or images.
        labels: Labels, (N,), as numbers, booleans or text; None if the file has none.
        notes: What was assumed and what was left out, in words.
        classes: The labels that were selected, in that order.
    """

    points: Tensor
    labels: np.ndarray | None
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    __repr__ = short_repr


def read_data(
    path: Path | str,
    *,
    label: str | int | None = None,
    drop: Names | None = None,
    classes: Names | None = None,
    drop_missing: bool = False,
    inputs: int | None = None,
) -> Data:
    """Read points, and labels if there are any, from a data file.

    In .csv, .tsv, .txt and .parquet files each row is a point. Columns of text files are separated by commas,
    semicolons, tabs or spaces; the first line may be a header. In .npz, .safetensors, .pt and .pth files the points are
    an array named X (or x, data, inputs, points, features, images), or the only array, and the labels are an array
    named y, label, labels, target, targets, class or classes. A .npy file contains one array. Text and .npy files may
    be compressed with gzip. The idx files of MNIST can be read, too.

    Args:
        path: The file; its extension determines the format.
        label: Column or array of labels, by name or number (from 0, or from the end with -1, -2, …). It is not an
            input. Default: a column or array with one of the names above, if there is one.
        drop: Columns or arrays to leave out, by name or number, such as ``"id"`` or ``["id", 3]``.
        classes: Keep only the points with these labels, such as ``"0,1"`` or ``[0, 1]``.
        drop_missing: Whether to leave out rows with missing values. Otherwise such files are refused.
        inputs: Number of inputs of the network. A column named y, label, … of a table is an input if the table has as
            many columns, and holds labels if it has one more.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "table.csv").write_text("a;b;class\\n1;2;red\\n3;;blue\\n5;6;red\\n")
    ...     data = read_data(Path(folder) / "table.csv", drop_missing=True)
    >>> data.points.tolist(), data.labels.tolist()
    ([[1.0, 2.0], [5.0, 6.0]], ['red', 'red'])
    >>> data.notes[0]
    "column 'class' holds labels and was left out"
    """
    selection = Selection.of(label, drop, classes, drop_missing)
    return read_selected(path, selection, inputs=None if inputs is None else {inputs})


def read_selected(
    path: Path | str,
    selection: Selection,
    *,
    inputs: Collection[int] | None = None,
    with_labels: bool = False,
    as_rows: bool = False,
) -> Data:
    """Read the selected part of a data file.

    Args:
        path: The file.
        selection: Which columns and rows to use.
        inputs: How many inputs there may be. None if that is not known.
        with_labels: Whether labels are needed. Without a suitable name, they are the last column of a table.
        as_rows: Whether to flatten images to rows.
    """
    path = Path(path)
    parts = chosen_parts(path, read_contents(path), selection, inputs, with_labels)
    if as_rows:
        parts = parts.as_rows()
    check_shape(path, parts, images=not as_rows)
    if not (with_labels or selection.needs_labels or selection.drop_missing):
        parts = parts.with_complete_labels()
    rows = complete_rows(path, parts, selection.drop_missing)
    check_numeric(path, parts)
    notes = list(parts.notes)
    if not rows.all():
        notes.append(f"{(~rows).sum():,} of {len(rows):,} rows with missing values were dropped")
    points = parts.table.points(parts.columns, rows)
    labels = None if parts.labels is None else plain_labels(parts.labels[rows])
    if selection.classes:
        if labels is None:
            raise UserError(f"--classes needs labels, but {path} has none: select them with --label")
        kept = np.any(class_rows(str(path), labels, selection.classes), axis=0)
        notes.append(
            f"{kept.sum():,} of {len(kept):,} rows have the labels {', '.join(selection.classes)} and were kept"
        )
        points, labels = points[kept], labels[kept]
    if len(points) < len(rows) and with_labels:  # measurements of labeled points name rows
        notes.append("row numbers count the rows that are left, from 0")
    check_finite(path, points)
    return Data(torch.from_numpy(points), labels, tuple(notes), selection.classes)
