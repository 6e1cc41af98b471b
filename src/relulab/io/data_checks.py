"""Checks of a data file before it is used: shape, numbers, missing and infinite values."""

from pathlib import Path

import numpy as np

from relulab.core.errors import UserError
from relulab.io.cells import is_number
from relulab.io.data_parts import Parts, missing_labels
from relulab.io.data_table import Matrix, column_option, column_word
from relulab.io.guard import one_line


def check_shape(path: Path, parts: Parts, images: bool) -> None:
    """Raise a ``UserError`` unless there is at least one point with at least one entry.

    Args:
        path: The file.
        parts: Its inputs and labels.
        images: Whether points may be images with channels.
    """
    shape, names = parts.table.shape, parts.table.names
    if names is not None and shape[0] and len(parts.columns):
        for k in parts.columns:
            if not names[k]:
                raise UserError(f"{path}: column {k} has no name: name it, or leave it out with --drop {k}")
        return
    if len(shape) >= 2 and not shape[0]:
        raise UserError(f"{path} contains no points, it has shape {shape}: give at least one")
    if len(shape) == 2 and shape[1] and not len(parts.columns):
        raise UserError(f"{path} has no columns left for the points: leave out fewer columns")
    if len(shape) not in ((2, 4) if images else (2,)) or 0 in shape:
        wanted = "(points, inputs) or (images, channels, height, width)" if images else "(points, inputs)"
        raise UserError(f"{path}: expected nonempty points of shape {wanted}, got {shape}: reshape the array")


def complete_rows(path: Path, parts: Parts, drop_missing: bool) -> np.ndarray:
    """Return which rows have no missing values; raise a ``UserError`` if there are others that may not be dropped.

    Args:
        path: The file.
        parts: Its inputs and labels.
        drop_missing: Whether rows with missing values may be dropped.
    """
    missing = parts.table.missing(parts.columns)
    words = [column_word(parts.table, k) for k in parts.columns] or ["the array of images"]
    if parts.labels is not None:
        labels = missing_labels(parts.labels)
        missing, words = np.column_stack([missing, labels]), [*words, parts.label_word]
    rows = np.asarray(~missing.any(1))
    if rows.all():
        return rows
    first = int(missing.any(0).argmax())
    word, count, row = words[first], int(missing[:, first].sum()), int(missing[:, first].argmax())
    nan = " (NaN)" if isinstance(parts.table, Matrix) else ""
    if not drop_missing:
        raise UserError(
            f"{path}: {word} has missing values{nan} in {count} of {len(rows)} rows, first in row {row} (counting from "
            "0): fill them in, or add --drop-missing to leave out such rows"
        )
    if not rows.any():
        raise UserError(f"every row of {path} has missing values: leave out columns such as {word} with --drop")
    return rows


def check_numeric(path: Path, parts: Parts) -> None:
    """Raise a ``UserError`` if an input is not a number.

    Args:
        path: The file.
        parts: Its inputs and labels.
    """
    for k in parts.columns:
        if parts.table.is_numeric(k):
            continue
        values, name = [str(value) for value in parts.table.values(k)], column_word(parts.table, k)
        row = next((i for i, cell in enumerate(values) if not is_number(cell)), 0)
        option = column_option(parts.table, k)
        raise UserError(
            f"{path}: expected numbers in {name}, got {one_line(values[row])!r} in row {row} (counting from 0): add "
            f"--label {option} if it holds the labels, or --drop {option} to leave it out"
        )


def check_finite(path: Path, points: np.ndarray) -> None:
    """Raise a ``UserError`` if a point is infinite.

    Args:
        path: The file.
        points: The points, without missing values.
    """
    wrong = np.flatnonzero(~np.isfinite(points).reshape(len(points), -1).all(1))
    if len(wrong):
        raise UserError(
            f"{path}: expected finite points, got infinite values in {len(wrong)} of {len(points)} rows, first in row "
            f"{wrong[0]} (counting from 0): remove or replace them"
        )
