"""Read points with labels of two classes from npz, npy, csv, tsv and parquet files."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from relulab.core.errors import UserError, nearest
from relulab.data.labeled import Labeled, labeled
from relulab.io.guard import LIMIT, checked, one_line, size
from relulab.io.points import NAMES
from relulab.io.tensors import NUMBERS, read_arrays, read_tensors

LABELS = ("y", "label", "labels", "target", "targets", "class")
ENDINGS = (".npz", ".npy", ".csv", ".tsv", ".parquet")
READ_ERRORS = (ValueError, TypeError, OverflowError, RecursionError, MemoryError, OSError, EOFError, Warning)


def read_table(path: Path | str, label: str | int | None = None) -> Labeled:
    """Read points and labels of two classes from a file and check them with ``labeled``.

    In .npz files, the points are an array named X (or x, data, inputs, points, features, images) with one row per
    point. The labels are an array named y, label, labels, target, targets or class, in upper or lower case. In .csv,
    .tsv and .parquet files, each row is a point, and the labels are the column with one of these names, or else the
    last column. The first line of .csv and .tsv files is a header if it contains one of these names, or if it contains
    no number. In .npy files, the labels are the last column.

    Args:
        path: The file: .npz, .npy, .csv, .tsv or .parquet; its extension determines the format.
        label: Name of the array or column of labels, or number of the column, counted from 0, or from the end with -1,
            -2, …. Default: one of the names above, or else the last column.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "table.npz", X=[[1.0, 2.0], [-1.0, 0.0]], y=["spam", "ham"])
    ...     read_table(Path(folder) / "table.npz").y.tolist()
    [1.0, -1.0]
    """
    path, label = checked(path), None if label is None else str(label)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        given = path if path.suffix else f"{path}, which has no extension"
        raise UserError(f"expected a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file, got {given}: convert it first")
    X, y = _of_arrays(path, _arrays(path), label) if ending == ".npz" else _of_frame(path, _frame(path, ending), label)
    try:
        return labeled(X, y if y is not None else np.empty(0))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def read_features(path: Path | str, label: str | int | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Read points from a file, and optionally one array or column of labels.

    In .npz, .safetensors and .pt files, the points are an array named X (or x, data, inputs, points, features, images),
    or the only array. In .npy, .csv, .tsv and .parquet files, they are all columns. Images are flattened to rows.

    Args:
        path: The file.
        label: Name of the array or column of labels, or number of the column, as in ``read_table``. Default: no labels.

    Returns:
        Points, (n, d), and labels, (n,), or None if ``label`` is not given.
    """
    path, label = checked(path), None if label is None else str(label)
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv", ".parquet") or (ending == ".npy" and label is not None):
        X, y = _of_frame(path, _frame(path, ending), label, guess=False)
    elif label is not None:
        X, y = _of_arrays(path, _arrays(path), label)
    else:
        arrays = _arrays(path)
        X, y = _rows(path, arrays, list(arrays)), None
    wrong = np.flatnonzero(~np.isfinite(X).all(1))
    if len(wrong):
        raise UserError(
            f"{path}: expected finite points, got NaN or infinite values in {len(wrong)} of {len(X)} rows, first in "
            f"row {wrong[0]} (counting from 0): remove or replace them"
        )
    return X, y


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Return all arrays of a file; from npz files also arrays of text, such as labels and column names."""
    if path.suffix.lower() == ".npz":
        return read_arrays(path, NUMBERS + "U")
    return {name: tensor.numpy() for name, tensor in read_tensors(path)[0].items()}


def _rows(path: Path, arrays: dict[str, np.ndarray], names: list[str]) -> np.ndarray:
    """Return the points among the arrays with the given names, one row per point; images are flattened."""
    name = next((name for name in NAMES if name in names), names[0] if len(names) == 1 else None)
    if name is None:
        names_given = ", ".join(list(arrays)[:6]) or "no arrays"
        raise UserError(f"expected points named X in {path}, got {names_given}: rename the array of points to X")
    X = arrays[name]
    if X.dtype.kind == "U":
        raise UserError(f"expected real numbers as points, but {name} in {path} is text ({X.dtype}): convert it")
    if X.ndim >= 2 and not len(X):
        raise UserError(f"{path} contains no points: {name} has shape {X.shape}")
    if X.ndim < 2 or not X.size:
        raise UserError(
            f"{path}: expected nonempty points of shape (points, inputs), or images, got {X.shape}: reshape the array"
        )
    return X.reshape(len(X), -1).astype(np.float64)


def _of_arrays(path: Path, arrays: dict[str, np.ndarray], label: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the points and the labels among the arrays of a file."""
    if label is not None and label not in arrays:
        raise UserError(f"{path} has no array of labels named {label!r}: {nearest(label, arrays)}")
    label_name = label or next((name for name in arrays if name.lower() in LABELS), None)
    if label_name is None:
        names = ", ".join(list(arrays)[:6]) or "no arrays"
        raise UserError(f"expected labels named y in {path}, got {names}: rename the labels to y, or pass their name")
    X, y = _rows(path, arrays, [name for name in arrays if name != label_name]), arrays[label_name]
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != X.shape[:1]:
        raise UserError(
            f"{path}: expected one label per point, got points of shape {X.shape} and labels of shape {y.shape}: give "
            f"labels of shape ({len(X)},)"
        )
    return X, y


def _frame(path: Path, ending: str) -> pd.DataFrame:
    """Read a table, with columns by name, or by number if the file has no names."""
    if ending == ".npy":
        (array,) = read_arrays(path).values()
        if array.ndim != 2:
            raise UserError(
                f"{path}: expected a matrix with one row per point and the label in a column, got an array of shape "
                f"{array.shape}: reshape it"
            )
        return pd.DataFrame(array)
    try:
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):  # rows of different lengths
            return _parquet(path) if ending == ".parquet" else _text(path, "\t" if ending == ".tsv" else ",")
    except UserError:
        raise
    except ImportError:
        raise UserError(
            f"cannot read {path}: Parquet files need pyarrow, which is not installed: run pip install pyarrow"
        ) from None
    except pd.errors.EmptyDataError:
        raise UserError(f"{path} has no rows: give at least one point of each class") from None
    except READ_ERRORS as error:  # errors of pandas and Arrow are ValueErrors
        raise UserError(f"{path} is not a valid {ending[1:]} table: {one_line(error)}") from None


def _parquet(path: Path) -> pd.DataFrame:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        unpacked = 8 * file.metadata.num_rows * file.metadata.num_columns
    if unpacked > LIMIT:
        raise UserError(f"{path} unpacks to {size(unpacked)}, but at most {size(LIMIT)} can be read: use fewer rows")
    return pd.read_parquet(path, engine="pyarrow")


def _text(path: Path, separator: str) -> pd.DataFrame:
    options = {"sep": separator, "skipinitialspace": True, "index_col": False}
    top = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options).iloc[0].tolist()
    named = any(cell.strip().lower() in LABELS for cell in top) or not any(map(_is_number, top))
    if named and "" in top:
        raise UserError(
            f"{path}: column {top.index('')} has no name: name it, or, if it contains row numbers, write the table "
            "without them (index=False)"
        )
    table = pd.read_csv(path, header=0 if named else None, low_memory=False, **options)
    if table.shape[1] < 2:
        raise UserError(
            f"expected at least two columns in {path}, got one: separate columns by commas in .csv files and by tabs "
            "in .tsv files"
        )
    return table


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _of_frame(
    path: Path, frame: pd.DataFrame, label: str | None, *, guess: bool = True
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the points and the labels among the columns; without ``label`` and ``guess``, all columns are points."""
    if not len(frame) or not frame.shape[1]:
        raise UserError(f"{path} has no {'columns' if len(frame) else 'rows'}: give a table with at least one point")
    frame.columns = [str(name).strip() for name in frame.columns]
    at = _label_column(path, list(frame.columns), label) if guess or label is not None else None
    for k, (name, column) in enumerate(frame.items()):
        missing = np.flatnonzero(column.isna())
        if len(missing):
            raise UserError(
                f"{path}: column {name} has missing values in {len(missing)} of {len(column)} rows, first in row "
                f"{missing[0]} (counting from 0): fill in or remove these rows"
            )
        if k != at and not pd.api.types.is_numeric_dtype(column):
            row, cell = next(((i, c) for i, c in enumerate(column) if not _is_number(str(c))), (0, column.iloc[0]))
            raise UserError(
                f"{path}: expected numbers in column {name}, got {one_line(cell)!r} in row {row} (counting from 0): "
                "convert the column, or select it as label if it contains the labels"
            )
    X = frame.iloc[:, [k for k in range(frame.shape[1]) if k != at]].to_numpy(dtype=np.float64)
    return X, None if at is None else frame.iloc[:, at].to_numpy()


def _label_column(path: Path, names: list[str], label: str | None) -> int:
    if label is None:
        return next((k for k, name in enumerate(names) if name.lower() in LABELS), len(names) - 1)
    if label in names:
        return names.index(label)
    try:
        at = int(label)
    except ValueError:
        raise UserError(f"{path} has no column of labels named {label!r}: {nearest(label, names)}") from None
    if not -len(names) <= at < len(names):
        raise UserError(
            f"expected a column of labels from 0 to {len(names) - 1} in {path}, got {at}: columns are counted from 0"
        )
    return at % len(names)
