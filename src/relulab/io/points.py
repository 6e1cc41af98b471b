"""Read points from a file."""

from pathlib import Path

from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.data_file import read_data
from relulab.io.label_column import wrong_count
from relulab.io.selection import Names


def read_points(
    path: Path | str,
    *,
    label: str | int | None = None,
    drop: Names | None = None,
    classes: Names | None = None,
    drop_missing: bool = False,
    inputs: int | None = None,
) -> Tensor:
    """Read points from a file and check that they are finite. Use ``read_data`` to get their labels, too.

    Args:
        path: The file: .csv, .tsv, .txt, .npy, each also with .gz, .parquet, .npz, .safetensors, .pt, .pth or idx, as
            in ``read_data``.
        label: Column or array of labels, by name or number; it is left out.
        drop: Columns or arrays to leave out, by name or number, such as ``"id"`` or ``["id", 3]``.
        classes: Keep only the points with these labels, such as ``"0,1"`` or ``[0, 1]``.
        drop_missing: Whether to leave out rows with missing values. Otherwise such files are refused.
        inputs: Number of columns that the points must have.

    Returns:
        Points, (N, d), or images, (N, channels, height, width).

    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "points.npz", X=np.zeros((4, 3)))
    ...     read_points(Path(folder) / "points.npz").shape
    torch.Size([4, 3])
    """
    data = read_data(path, label=label, drop=drop, classes=classes, drop_missing=drop_missing, inputs=inputs)
    if inputs is not None:
        check_count(path, data.points, inputs)
    return data.points


def check_count(path: Path | str, points: Tensor, inputs: int) -> None:
    """Raise a ``UserError`` if points in rows do not have the wanted number of columns.

    Args:
        path: The file, for error messages.
        points: The points; images are not checked.
        inputs: The wanted number of columns.
    """
    if points.dim() == 2 and points.shape[1] != inputs:
        raise UserError(wrong_count(str(path), points.shape[1], {inputs}))
