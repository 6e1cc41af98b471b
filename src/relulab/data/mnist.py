"""Read MNIST from its four idx files, which must be in the folder RELULAB_DATA. Nothing is downloaded."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from relulab.core.errors import UserError
from relulab.core.short_repr import short_repr
from relulab.data.data_folder import VARIABLE, Part, data_folder, find_file, searched
from relulab.io.idx import read_idx

STEMS = {"train": "train", "held out": "t10k"}
KINDS = {"images": 3, "labels": 1}
FOLDERS = ("mnist", "MNIST/raw", "MNIST", "mnist/raw", "")
HOW = (
    "download the four idx files of MNIST, for instance with torchvision.datasets.MNIST(DIR, download=True), and set "
    f"the environment variable {VARIABLE}=DIR"
)


class Digits(NamedTuple):
    """Images with gray values from 0 (background) to 255, and the digit shown in each."""

    images: UInt8[np.ndarray, "N 28 28"]
    labels: UInt8[np.ndarray, " N"]

    __repr__ = short_repr


def mnist_files(folder: Path | str | None = None) -> dict[tuple[str, str], Path]:
    """Find the four files of MNIST.

    They may be in the folder itself, in ``mnist``, ``MNIST``, ``mnist/raw``, or in ``MNIST/raw``, where torchvision
    puts them. They may be compressed with gzip, and have a dash or a dot before ``idx`` in their names.

    Args:
        folder: The folder to search. Default: the environment variable RELULAB_DATA.

    Returns:
        The paths by part ("train", "held out") and kind ("images", "labels").
    """
    given = data_folder("MNIST is", HOW, folder)
    paths = {(part, kind): find_file(given, FOLDERS, _names(part, kind)) for part in STEMS for kind in KINDS}
    missing = [f"{STEMS[part]}-{kind}-idx{KINDS[kind]}-ubyte" for (part, kind), path in paths.items() if path is None]
    if missing:
        raise UserError(
            f"MNIST is required, but {given} does not contain {', '.join(missing)} ({searched(FOLDERS)}): {HOW}"
        )
    return {key: path for key, path in paths.items() if path is not None}


def _names(part: str, kind: str) -> list[str]:
    return [f"{STEMS[part]}-{kind}{dash}idx{KINDS[kind]}-ubyte{packed}" for packed in ("", ".gz") for dash in "-."]


def mnist(part: Part, classes: tuple[int, ...] = tuple(range(10)), folder: Path | str | None = None) -> Digits:
    """Read the training or test digits of MNIST, in the order of the files.

    Args:
        part: "train" for the 60,000 training digits, "held out" for the 10,000 held-out digits.
        classes: The digits to keep. Default: all ten.
        folder: The folder with the four files, or with a subfolder mnist, MNIST/raw, MNIST or mnist/raw that contains
            them. Default: the environment variable RELULAB_DATA.
    """
    files = mnist_files(folder)
    images, labels = (read_idx(files[part, kind]) for kind in KINDS)
    if images.ndim != 3 or images.shape[1:] != (28, 28) or labels.ndim != 1:
        raise UserError(
            f"expected MNIST images of shape (N, 28, 28) and labels of shape (N,), got {images.shape} in "
            f"{files[part, 'images']} and {labels.shape} in {files[part, 'labels']}: download both files again"
        )
    if len(images) != len(labels):
        raise UserError(
            f"expected one label per image, got {len(images)} images in {files[part, 'images']} and {len(labels)} "
            f"labels in {files[part, 'labels']}: download both files again"
        )
    wanted = np.isin(labels, classes)
    return Digits(images[wanted], labels[wanted])
