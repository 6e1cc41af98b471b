"""Points of two classes from a user's file: npz, npy, csv, tsv or parquet."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from relulab.core.errors import UserError, nearest
from relulab.data.labeled import Labeled, labeled
from relulab.io.guard import LIMIT, checked, said, size
from relulab.io.points import NAMES
from relulab.io.tensors import NUMBERS, read_arrays, read_tensors

LABELS = ("y", "label", "labels", "target", "targets", "class")
ENDINGS = (".npz", ".npy", ".csv", ".tsv", ".parquet")
TROUBLES = (ValueError, TypeError, OverflowError, RecursionError, MemoryError, OSError, EOFError, Warning)


def read_table(path: Path | str, label: str | int | None = None) -> Labeled:
    """The points and labels of a file, as ``labeled`` checks them; the format is told by the ending.

    .npz: an array X (or x, data, inputs, points, features, images), a point a row, and one of labels called y, label,
    labels, target, targets or class, in any case. .csv, .tsv, .parquet: a point a row, the labels in a column of such a
    name, or in the last one. The first line of .csv and .tsv is a header if it has such a name, or no number. .npy: the
    last column has the labels.

    Args:
        path: The file: .npz, .npy, .csv, .tsv or .parquet.
        label: Name of another array or column of labels, or the number of a column, from 0, or from the end with -1,
            -2, …. None looks for the names above, else takes the last column.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "table.npz", X=[[1.0, 2.0], [-1.0, 0.0]], y=["spam", "ham"])
    ...     read_table(Path(folder) / "table.npz").y.tolist()
    [1.0, -1.0]
    """
    path, label = checked(path), None if label is None else str(label)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        ends = f"ends with {path.suffix}" if path.suffix else "has no ending"
        raise UserError(f"{path} {ends}: points of two classes are read from {', '.join(ENDINGS)}")
    X, y = _of_arrays(path, _arrays(path), label) if ending == ".npz" else _of_frame(path, _frame(path, ending), label)
    try:
        return labeled(X, y if y is not None else np.empty(0))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def read_features(path: Path | str, label: str | int | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """The points of a file, one a row, all of its columns numbers; and one array or column of it apart, if named.

    .npz, .safetensors, .pt: an array X (or x, data, inputs, points, features, images), or the only one there is. .npy,
    .csv, .tsv, .parquet: every column. Pictures become rows. ``label`` is as for ``read_table``; without it nothing is
    taken for labels.
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
            f"{path}: {len(wrong)} of {len(X)} points have NaN or infinite entries, the first is row {wrong[0]}"
        )
    return X, y


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file; of an npz file words too, since labels may be those, and names of columns are there."""
    if path.suffix.lower() == ".npz":
        return read_arrays(path, NUMBERS + "U")
    return {name: tensor.numpy() for name, tensor in read_tensors(path)[0].items()}


def _rows(path: Path, arrays: dict[str, np.ndarray], names: list[str]) -> np.ndarray:
    """The points among some arrays, a row each, pictures too."""
    name = next((name for name in NAMES if name in names), names[0] if len(names) == 1 else None)
    if name is None:
        raise UserError(f"{path} holds {', '.join(list(arrays)[:6]) or 'nothing'}: which are the points? Call them X")
    X = arrays[name]
    if X.dtype.kind == "U":
        raise UserError(f"{path}, {name} has type {X.dtype}: points have real numbers as entries")
    if X.ndim >= 2 and not len(X):
        raise UserError(f"{path} has no points: an array of shape {X.shape}")
    if X.ndim < 2 or not X.size:
        raise UserError(f"{path}: points of shape {X.shape}; (points, inputs) was expected, or pictures")
    return X.reshape(len(X), -1).astype(np.float64)


def _of_arrays(path: Path, arrays: dict[str, np.ndarray], label: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The points and the labels among the arrays of a file."""
    if label is not None and label not in arrays:
        raise UserError(f"{path} has no array {label!r} of labels: {nearest(label, arrays)}")
    of_labels = label or next((name for name in arrays if name.lower() in LABELS), None)
    if of_labels is None:
        shown = ", ".join(list(arrays)[:6]) or "nothing"
        raise UserError(f"{path} holds {shown}: which are the labels? Call them y, or name them as label")
    X, y = _rows(path, arrays, [name for name in arrays if name != of_labels]), arrays[of_labels]
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != X.shape[:1]:
        raise UserError(f"{path}: points of shape {X.shape}, labels of shape {y.shape}: one row and one label a point")
    return X, y


def _frame(path: Path, ending: str) -> pd.DataFrame:
    """The table, its columns by name or, where the file has no names, by number."""
    if ending == ".npy":
        (array,) = read_arrays(path).values()
        if array.ndim != 2:
            raise UserError(f"{path}: an array of shape {array.shape}; a row a point was expected, its label last")
        return pd.DataFrame(array)
    try:
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):  # rows of other lengths
            return _parquet(path) if ending == ".parquet" else _text(path, "\t" if ending == ".tsv" else ",")
    except UserError:
        raise
    except ImportError:
        raise UserError(f"{path}: Parquet files are read with pyarrow, which is missing: pip install pyarrow") from None
    except pd.errors.EmptyDataError:
        raise UserError(f"{path} has no rows") from None
    except TROUBLES as error:  # a ParserError is a ValueError, and so is what Arrow raises
        raise UserError(f"{path} is no {ending[1:]} table, or a damaged one: {said(error)}") from None


def _parquet(path: Path) -> pd.DataFrame:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        whole = 8 * file.metadata.num_rows * file.metadata.num_columns
    if whole > LIMIT:
        raise UserError(f"{path} unpacks to {size(whole)}, more than the {size(LIMIT)} that are read")
    return pd.read_parquet(path, engine="pyarrow")


def _text(path: Path, separator: str) -> pd.DataFrame:
    options = {"sep": separator, "skipinitialspace": True, "index_col": False}
    top = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options).iloc[0].tolist()
    named = any(cell.strip().lower() in LABELS for cell in top) or not any(map(_is_number, top))
    if named and "" in top:
        raise UserError(
            f"{path}: column {top.index('')} has no name; if it numbers the rows, write the table without (index=False)"
        )
    found = pd.read_csv(path, header=0 if named else None, low_memory=False, **options)
    if found.shape[1] < 2:
        raise UserError(f"{path} has one column: in .csv files a comma parts columns, in .tsv files a tab")
    return found


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _of_frame(
    path: Path, frame: pd.DataFrame, label: str | None, *, guess: bool = True
) -> tuple[np.ndarray, np.ndarray | None]:
    """The points and the labels among the columns of a table; without a guess, all are points if none is named."""
    if not len(frame) or not frame.shape[1]:
        raise UserError(f"{path} has no rows" if not len(frame) else f"{path} has no columns")
    frame.columns = [str(name).strip() for name in frame.columns]
    at = _label_column(path, list(frame.columns), label) if guess or label is not None else None
    for k, (name, column) in enumerate(frame.items()):
        missing = np.flatnonzero(column.isna())
        if len(missing):
            raise UserError(f"{path}: column {name} has {len(missing)} missing values, the first in row {missing[0]}")
        if k != at and not pd.api.types.is_numeric_dtype(column):
            row, cell = next(((i, c) for i, c in enumerate(column) if not _is_number(str(c))), (0, column.iloc[0]))
            raise UserError(
                f"{path}: column {name} has {said(cell)!r} in row {row}, which is no number; if it has the labels, "
                "name it as label"
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
        raise UserError(f"{path} has no column {label!r} of labels: {nearest(label, names)}") from None
    if not -len(names) <= at < len(names):
        raise UserError(f"{path} has no column {at} of labels: it has {len(names)}, numbered from 0")
    return at % len(names)
