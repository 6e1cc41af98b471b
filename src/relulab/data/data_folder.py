"""The folder RELULAB_DATA, in which data sets and networks of other people are found. Nothing is downloaded."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from relulab.core.errors import UserError

VARIABLE = "RELULAB_DATA"
Part = Literal["train", "held out"]


def data_folder(needed: str, how: str, folder: Path | str | None = None) -> Path:
    """Return the folder that contains the data.

    Args:
        needed: What is needed, with its verb, such as "MNIST is".
        how: How to get it, for the error message.
        folder: The folder. Default: the environment variable RELULAB_DATA.
    """
    given = folder or os.environ.get(VARIABLE)
    if not given:
        raise UserError(f"{needed} required, but {VARIABLE} is not set: {how}")
    return Path(given)


def find_file(root: Path, subfolders: Iterable[str], names: Sequence[str]) -> Path | None:
    """Return the first file with one of the names; None if there is none.

    Args:
        root: The folder.
        subfolders: Where to look below it, in this order; "" is the folder itself.
        names: Names of the file, the best one first.
    """
    return next((p for inner in subfolders for name in names if (p := root / inner / name).is_file()), None)


def searched(subfolders: Iterable[str]) -> str:
    """Say where was searched, for the error message.

    Args:
        subfolders: Where it was below the folder; "" is the folder itself.

    >>> searched(("cifar", "")), searched(("a", "b"))
    ('searched there and in its subfolder cifar', 'searched there and in its subfolders a, b')
    """
    inner = [name for name in subfolders if name]
    return f"searched there and in its subfolder{'s' if len(inner) > 1 else ''} {', '.join(inner)}"
