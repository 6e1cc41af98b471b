"""Divide the contents of a data file into inputs and labels."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from relulab.core.errors import UserError, nearest
from relulab.io.data_formats import Contents
from relulab.io.data_table import Matrix, Table, column_number, column_word
from relulab.io.label_column import LABELS, left_out, possible_label, required_label
from relulab.io.selection import Selection

NAMES = ("X", "x", "data", "inputs", "points", "features", "images")


@dataclass(frozen=True)
class Parts:
    """A table, the columns that are inputs (none if it contains images), and the labels of its rows."""

    table: Table
    columns: Sequence[int]
    labels: np.ndarray | None
    label_word: str
    notes: tuple[str, ...]

    def as_rows(self) -> "Parts":
        """Return the same with images flattened to rows."""
        n = self.table.shape[0]
        if len(self.table.shape) < 3 or not n:
            return self
        table = Matrix(self.table.points(self.columns, np.ones(n, bool)).reshape(n, -1))
        note = f"images of shape {self.table.shape[1:]} were flattened to rows of {table.shape[1]} numbers"
        return replace(self, table=table, columns=range(table.shape[1]), notes=(*self.notes, note))

    def with_complete_labels(self) -> "Parts":
        """Return the same without the labels if some are missing."""
        return replace(self, labels=None) if missing_labels(self.labels).any() else self


def missing_labels(labels: np.ndarray | None) -> np.ndarray:
    """Return which labels are missing.

    Args:
        labels: The labels, or None.
    """
    if labels is None or labels.dtype.kind not in "fOM":
        return np.zeros(0 if labels is None else len(labels), bool)
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    from pandas import isna

    return np.asarray(isna(labels))


def chosen_parts(
    path: Path, contents: Contents, selection: Selection, inputs: Collection[int] | None, with_labels: bool
) -> Parts:
    """Choose the inputs and the labels in the contents of a file.

    Args:
        path: The file, for error messages.
        contents: Its contents.
        selection: Which columns and arrays to use.
        inputs: How many inputs there may be. None if that is not known.
        with_labels: Whether labels are needed.
    """
    if contents.table is not None:
        parts = Parts(contents.table, [], None, "", contents.notes)
        return _columns(path, parts, selection.label, selection.drop, inputs, with_labels, alone=True)
    points, label = _named_arrays(path, contents.arrays, selection, with_labels)
    table, notes = Matrix(contents.arrays[points]), contents.notes
    needed = with_labels or selection.needs_labels
    labels = None if label is None else _vector(path, contents.arrays[label], table, needed)
    if labels is not None and with_labels and selection.label is None:
        notes = (*notes, contents.labels_from or f"array {label!r} holds the labels")
    parts = Parts(table, [], labels, f"array {label!r}", notes)
    column = None if selection.label in contents.arrays else selection.label
    drop = [name for name in selection.drop if name not in contents.arrays]
    return _columns(path, parts, column, drop, inputs, with_labels, alone=False)


def _columns(
    path: Path,
    parts: Parts,
    label: str | None,
    drop: Sequence[str],
    inputs: Collection[int] | None,
    with_labels: bool,
    alone: bool,
) -> Parts:
    """Choose the columns of a table that are inputs, and its column of labels; ``alone`` if it has no other labels."""
    where, table, notes = str(path), parts.table, list(parts.notes)
    if len(table.shape) != 2 and label is None and not drop:
        if alone and with_labels and len(table.shape) != 1:
            raise UserError(
                f"expected labels named y in {path}, got only points: save both with np.savez(path, X=…, y=…)"
            )
        return parts
    leave = {column_number(where, table, name, "--drop") for name in drop}
    if leave:
        notes.append(f"left out as requested: {', '.join(column_word(table, k) for k in sorted(leave))}")
    at = None if label is None else column_number(where, table, label, "--label")
    columns = [k for k in range(table.shape[1]) if k not in leave | (table.left_out - {at})]
    note = None if at is None or with_labels else left_out(table, at)
    if at is None and alone and with_labels:
        at, note = required_label(where, table, columns)
    elif at is None and alone:
        at, note = possible_label(where, table, columns, inputs)
    notes += [note] if note else []
    columns = [k for k in columns if k != at]
    if at is None:
        return replace(parts, columns=columns, notes=tuple(notes))
    return Parts(table, columns, table.values(at), column_word(table, at), tuple(notes))


def _vector(path: Path, labels: np.ndarray, table: Table, needed: bool) -> np.ndarray | None:
    """Return an array of labels as a vector; None if it has another shape and is not needed."""
    vector = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if vector.shape == table.shape[:1]:
        return vector
    if not needed:
        return None
    raise UserError(
        f"{path}: expected one label per point, got points of shape {table.shape} and labels of shape {labels.shape}: "
        f"give labels of shape ({table.shape[0] if table.shape else 1},)"
    )


def _named_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], selection: Selection, with_labels: bool
) -> tuple[str, str | None]:
    """Return the names of the arrays of points and of labels."""
    given = ", ".join(list(arrays)[:6]) or "no arrays"
    names = [name for name in arrays if name not in selection.drop]
    label, like_labels = selection.label, [name for name in names if name.lower() in LABELS]
    if label is not None and label not in arrays:
        if not label.lstrip("-").isdecimal():
            raise UserError(f"{path} has no array of labels named {label!r}: {nearest(label, arrays)}")
        label = None  # the number of a column
    elif label is None and len(like_labels) == 1:
        label = like_labels[0]
    elif label is None and with_labels:
        raise UserError(
            f"{path}: the arrays {' and '.join(like_labels)} may hold the labels: select one with --label"
            if like_labels
            else f"expected labels named y in {path}, got {given}: rename the labels to y, or select them with --label"
        )
    others = [name for name in names if name != label]
    points = next((name for name in NAMES if name in others), others[0] if len(others) == 1 else None)
    if points is None:
        raise UserError(
            f"expected points named X in {path}, got {given}: rename the array of points to X, or save it alone"
        )
    if arrays[points].dtype.kind == "U":
        raise UserError(
            f"expected real numbers as points, but {points} in {path} is text ({arrays[points].dtype}): convert it"
        )
    return points, label
