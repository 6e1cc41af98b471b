"""Tables of points: columns of a text or Parquet file, or an array with one row or image per point."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from shlex import quote
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from relulab.core.errors import UserError, nearest
from relulab.io.guard import one_line

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 12  # largest number of names in a message
LONGEST = 40  # largest number of characters of a name in a suggested option


@dataclass(frozen=True)
class Frame:
    """The columns of a data frame, with names if the file has them; ``left_out`` are columns that contain no data."""

    frame: "pd.DataFrame"
    names: list[str] | None
    left_out: frozenset[int] = frozenset()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.frame.shape

    def is_numeric(self, column: int) -> bool:
        """Whether a column contains only numbers and missing values."""
        from pandas.api.types import is_numeric_dtype

        content = self.frame.iloc[:, column]
        # Booleans with gaps are stored as Python objects. They are looked at one by one, because pandas would copy a
        # text that is repeated a million times.
        return is_numeric_dtype(content) or (
            content.dtype == object and all(isinstance(value, Number | np.bool_) for value in content.dropna())
        )

    def values(self, column: int) -> np.ndarray:
        """Return the values of a column."""
        return self.frame.iloc[:, column].to_numpy()

    def missing(self, columns: Sequence[int]) -> np.ndarray:
        """Return which of the columns have missing values in which rows, (n, columns)."""
        return self.frame.iloc[:, list(columns)].isna().to_numpy()

    def points(self, columns: Sequence[int], rows: np.ndarray) -> np.ndarray:
        """Return the numbers in these columns and rows."""
        chosen = self.frame.iloc[np.flatnonzero(rows), list(columns)]
        return np.array(chosen.to_numpy(dtype=np.float64), order="C")  # a copy, because the frame is read-only


@dataclass(frozen=True)
class Matrix:
    """An array of numbers with one point per row: its columns have numbers, but no names. Images have no columns."""

    array: np.ndarray
    names: ClassVar[None] = None
    left_out: ClassVar[frozenset[int]] = frozenset()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def is_numeric(self, column: int) -> bool:
        return True

    def values(self, column: int) -> np.ndarray:
        return self.array[:, column]

    def missing(self, columns: Sequence[int]) -> np.ndarray:
        gaps = np.isnan(self._selected(columns))
        return gaps if gaps.ndim == 2 else np.column_stack([gaps.reshape(len(gaps), -1).any(1)])

    def points(self, columns: Sequence[int], rows: np.ndarray) -> np.ndarray:
        chosen = self._selected(columns)
        single = chosen.dtype in (np.float16, np.float32)
        return (chosen if rows.all() else chosen[rows]).astype(np.float32 if single else np.float64)

    def _selected(self, columns: Sequence[int]) -> np.ndarray:
        everything = self.array.ndim > 2 or len(columns) == self.array.shape[1]
        return self.array if everything else self.array[:, list(columns)]


Table = Frame | Matrix


def column_number(where: str, table: Table, name: str, option: str) -> int:
    """Return the number of a column that is given by its name or number.

    Args:
        where: The file, for error messages.
        table: The table.
        name: The name of the column, or its number, counted from 0, or from the end with -1, -2, ….
        option: The option that selects the column, for error messages.
    """
    if len(table.shape) != 2:
        raise UserError(f"{where} has no columns, because its points have shape {table.shape[1:]}: leave out {option}")
    names, count = table.names or [], table.shape[1]
    same = [k for k, each in enumerate(names) if each == name]
    if len(same) > 1:
        raise UserError(f"{where} has {len(same)} columns named {name!r}: give a number, such as {option} {same[0]}")
    if same:
        return same[0]
    try:
        number = int(name)
    except ValueError:
        known = [*filter(None, names)] or [str(k) for k in range(count)]
        raise UserError(f"{where} has no column {name!r} ({option}): {_choice(name, known)}") from None
    if not -count <= number < count:
        raise UserError(f"{where} has no column {number} ({option}): columns are counted from 0 to {count - 1}")
    return number % count


def _choice(name: str, known: list[str]) -> str:
    """Return the closest name, or else the first names."""
    text = nearest(name, known)
    return text if len(known) <= SHOWN or "?" in text else f"choose from {', '.join(known[:SHOWN])}, …"


def column_word(table: Table, column: int) -> str:
    """Return how a column is called in messages: column 'age', or column 3 if it has no name.

    Args:
        table: The table.
        column: The number of the column.
    """
    name = one_line(table.names[column]) if table.names and table.names[column] else ""
    return f"column {name!r}" if name else f"column {column}"


def column_option(table: Table, column: int) -> str:
    """Return how a column is written after an option: by its name, or by its number if that is not unique.

    Args:
        table: The table.
        column: The number of the column.
    """
    name = table.names[column] if table.names else ""
    unique = name and table.names is not None and table.names.count(name) == 1
    return quote(name) if unique and name.isprintable() and len(name) <= LONGEST else str(column)
