"""Read tables in text files, and refuse what would be misread."""

import warnings
from dataclasses import dataclass
from io import BufferedReader, BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path

import pandas as pd

from relulab.core.errors import UserError
from relulab.io.cells import has_decimal_comma, is_number
from relulab.io.guard import SMALL, check_columns, one_line
from relulab.io.text_layout import Layout, text_layout
from relulab.io.unpacked import opened

SAMPLE = 50  # number of lines from which the layout is found
ENCODING = "utf-8-sig"
READ_ERRORS = (ValueError, TypeError, OverflowError, RecursionError, MemoryError, OSError, EOFError, Warning)


@dataclass(frozen=True)
class TextTable:
    """A table as it is written, with the names of its columns ("" if a column has none), and what was assumed.

    ``left_out`` are the numbers of columns that contain no data: row numbers, and what follows a separator at the end
    of every line.
    """

    frame: pd.DataFrame
    names: list[str] | None
    left_out: frozenset[int]
    notes: tuple[str, ...]


def read_text_table(path: Path) -> TextTable:
    """Read a table whose columns are separated by commas, semicolons, tabs or spaces.

    Args:
        path: The file, in UTF-8, plain or compressed with gzip.
    """
    with opened(path) as file:
        try:
            lines = _sample(path, file)
            check_columns(path, max(len(line.split()) for line in lines))
            check_columns(path, 1 + max(line.count(separator) for line in lines for separator in ",;\t"))
            layout = text_layout(lines)
            if layout is None:
                raise pd.errors.EmptyDataError
            check_columns(
                path, max(line.count("," if layout.separator == r"\s+" else layout.separator) for line in lines) + 1
            )
            frame = _body(file, layout)
        except UserError:
            raise
        except pd.errors.EmptyDataError:
            raise UserError(f"{path} has no rows: give a table with at least one point") from None
        except UnicodeDecodeError as error:
            byte = f"{error.object[error.start]:#04x}"
            raise UserError(f"expected text in UTF-8, but {path} contains the byte {byte}: save it as UTF-8") from None
        except READ_ERRORS as error:  # errors of pandas are ValueErrors
            reason = one_line(str(error).rpartition("C error: ")[2])
            raise UserError(f"{path} is not a valid table: {reason}") from None
    names, notes = layout.names, [layout.note] if layout.note else []
    left_out = set()
    last = frame.shape[1] - 1
    if last and frame.iloc[:, last].isna().all() and (names is None or names[last : last + 1] in ([], [""])):
        left_out.add(last)
        notes.append("the last column is empty and was left out: every line ends with a separator")
        names = names if names is None or len(names) > last else [*names, ""]
    if names is not None and len(names) != frame.shape[1]:
        raise UserError(
            f"{path}: expected as many names as columns, got {len(names)} names in the first line and "
            f"{frame.shape[1]} columns below it: correct the first line"
        )
    if names and not names[0] and _counts_rows(frame.iloc[:, 0]):
        left_out.add(0)
        notes.append("column 0 has no name, counts the rows and was left out")
    _check_decimal_points(path, frame, names)
    return TextTable(frame, names, frozenset(left_out), tuple(notes))


def _sample(path: Path, file: BufferedReader | BytesIO) -> list[str]:
    """Return the first lines of a file, and go back to its start."""
    text = TextIOWrapper(file, ENCODING)
    first = text.readline(SMALL)
    if len(first) == SMALL:
        raise UserError(f"{path} is not a table: its first line has more than {SMALL:,} characters")
    lines = [first, *islice(text, SAMPLE)]
    text.detach().seek(0)
    return lines


def _body(file: BufferedReader | BytesIO, layout: Layout) -> pd.DataFrame:
    options = {"sep": layout.separator, "header": None, "index_col": False, "na_values": ["?"], "low_memory": False}
    with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):  # rows of different lengths
        return pd.read_csv(file, skiprows=layout.skipped, skipinitialspace=True, encoding=ENCODING, **options)


def _check_decimal_points(path: Path, frame: pd.DataFrame, names: list[str] | None) -> None:
    """Raise a ``UserError`` if a column has decimal commas; its numbers would be read as text, such as labels."""
    for k, column in enumerate(frame.columns):
        cells = enumerate(frame[column]) if not pd.api.types.is_numeric_dtype(frame[column]) else ()
        row, cell = next(((i, c) for i, c in cells if isinstance(c, str) and not is_number(c)), (0, ""))
        if has_decimal_comma(cell):
            name = repr(one_line(names[k])) if names and names[k] else k
            raise UserError(
                f"{path}: column {name} has decimal commas, such as {cell} in row {row} (counting "
                "from 0): write decimal points, such as 1.5"
            )


def _counts_rows(column: pd.Series) -> bool:
    """Whether a column contains 0, 1, 2, … or 1, 2, 3, …."""
    return any(column.equals(pd.Series(range(start, start + len(column)), name=column.name)) for start in (0, 1))
