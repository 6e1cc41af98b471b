"""Which columns and rows of a data file to use, as users select them."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from relulab.core.errors import UserError

SHOWN = 12  # largest number of classes in a message
Names = str | Iterable[str | int | float]
"""Names or numbers, as text separated by commas or one by one."""


@dataclass(frozen=True)
class Selection:
    """A selection of columns and rows; see ``relulab.read_data`` for the meaning of its parts."""

    label: str | None = None
    drop: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    drop_missing: bool = False

    @property
    def needs_labels(self) -> bool:
        """Whether the file must have labels."""
        return self.label is not None or bool(self.classes)

    @classmethod
    def of(
        cls,
        label: str | int | None = None,
        drop: Names | None = None,
        classes: Names | None = None,
        drop_missing: bool = False,
    ) -> "Selection":
        """Return the selection that these options describe.

        Args:
            label: The column or array of labels, by name or number.
            drop: Columns or arrays to leave out, by name or number.
            classes: The classes to keep.
            drop_missing: Whether to leave out rows with missing values.

        >>> Selection.of(drop="id, 3", classes=[7, 1])
        Selection(label=None, drop=('id', '3'), classes=('7', '1'), drop_missing=False)
        """
        name = None if label is None else str(label)
        return cls(name, _words(drop, "--drop"), _words(classes, "--classes"), drop_missing)


def _words(given: Names | None, option: str) -> tuple[str, ...]:
    """Return names that are separated by commas; names with commas must be in quotes."""
    if given is None:
        return ()
    if isinstance(given, str):
        rows = list(csv.reader([given], skipinitialspace=True))
        names = tuple(cell.strip() for cell in rows[0]) or ("",)
    else:
        names = tuple(str(name) for name in given)
    if not all(names):
        raise UserError(f"{option}: expected names or numbers separated by commas, got {given!r}")
    return names


def plain_labels(labels: np.ndarray) -> np.ndarray:
    """Return labels as whole numbers, other numbers, booleans or text, the same for every file format.

    Args:
        labels: The labels as they were read.

    >>> plain_labels(np.array([0.0, 1.0])), plain_labels(np.array(["a", 1], dtype=object))
    (array([0, 1]), array(['a', '1'], dtype='<U1'))
    """
    if labels.dtype.kind == "O":
        numbers = all(isinstance(label, bool | int | float | np.number | np.bool_) for label in labels)
        labels = np.array(labels.tolist()) if numbers else labels.astype(str)
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.round(labels)).all():
        return labels.astype(np.int64) if (np.abs(labels) < 2**53).all() else labels
    return labels if labels.dtype.kind in "biuf" else labels.astype(str)


def class_rows(where: str, labels: np.ndarray, classes: tuple[str, ...]) -> list[np.ndarray]:
    """Return for each class which rows it has, one array of booleans per class.

    Args:
        where: The file, for error messages.
        labels: The labels, as ``plain_labels`` returns them.
        classes: The names of the classes; numbers may be written in any way, as 1 or 1.0.
    """
    rows = [_equal(labels, name) for name in classes]
    if empty := [name for name, found in zip(classes, rows, strict=True) if not found.any()]:
        raise UserError(f"{where} has no points of class {empty[0]!r} (--classes): its classes are {shown(labels)}")
    if len({found.tobytes() for found in rows}) < len(rows):
        raise UserError(f"--classes: expected different classes, got {','.join(classes)}")
    return rows


def _equal(labels: np.ndarray, name: str) -> np.ndarray:
    if labels.dtype.kind == "b":
        value = {"true": True, "1": True, "false": False, "0": False}.get(name.lower())
        return np.zeros(labels.shape, bool) if value is None else labels == value
    if labels.dtype.kind in "iuf":
        try:
            return labels == float(name)
        except ValueError:
            return np.zeros(labels.shape, bool)
    return labels == name


def shown(labels: np.ndarray) -> str:
    """Return the different labels for a message, at most twelve.

    Args:
        labels: The labels.
    """
    values = np.unique(labels)
    return ", ".join(str(value) for value in values[:SHOWN]) + (", …" if len(values) > SHOWN else "")
