"""Read points with labels of two classes from a file."""

from pathlib import Path
from shlex import quote

import numpy as np

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled, labeled
from relulab.io.data_file import Data, read_selected
from relulab.io.selection import Names, Selection, class_rows, shown


def read_table(
    path: Path | str,
    label: str | int | None = None,
    *,
    drop: Names | None = None,
    classes: Names | None = None,
    drop_missing: bool = False,
) -> Labeled:
    """Read points and labels of two classes from a file and check them with ``labeled``.

    The formats are those of ``read_data``. Without ``label``, the labels are the column or array named y, label,
    labels, target, targets, class or classes, in upper or lower case, or else the last column of a table.

    Args:
        path: The file: .csv, .tsv, .txt, .npy, each also with .gz, .parquet, .npz, .safetensors, .pt, .pth or idx.
        label: Column or array of labels, by name or number, counted from 0, or from the end with -1, -2, ….
        drop: Columns or arrays to leave out, by name or number, such as ``"id"`` or ``["id", 3]``.
        classes: The two labels to keep, such as ``"0,1"`` or ``[0, 1]``; the first becomes −1 and the second +1.
            Default: the file has two labels, and the one that sorts last becomes +1.
        drop_missing: Whether to leave out rows with missing values. Otherwise such files are refused.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "table.npz", X=[[1.0, 2.0], [-1.0, 0.0]], y=["spam", "ham"])
    ...     read_table(Path(folder) / "table.npz").y.tolist()
    [1.0, -1.0]
    """
    selection = Selection.of(label, drop, classes, drop_missing)
    return two_classes(path, read_selected(path, selection, with_labels=True, as_rows=True))


def two_classes(path: Path | str, data: Data) -> Labeled:
    """Return data of two classes with labels ±1.

    Args:
        path: The file, for error messages.
        data: What was read from it, with labels.
    """
    labels, classes = data.labels, data.classes
    if labels is None or len(classes) not in (0, 2):
        raise UserError(f"--classes: expected two classes, such as 0,1, got {','.join(classes)}")
    found = np.unique(labels)
    if len(found) > 2:
        raise UserError(
            f"{path}: expected labels of two classes, got {len(found)} different labels ({shown(labels)}): keep two of "
            f"them with --classes {quote(f'{found[0]},{found[1]}')}, or select other labels with --label"
        )
    try:
        if not classes:
            return labeled(data.points, labels)
        signs = np.where(class_rows(str(path), labels, classes)[1], 1, -1)
        first, second = classes
        return labeled(data.points, signs)._replace(names=(first, second))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
