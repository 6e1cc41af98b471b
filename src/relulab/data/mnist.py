"""MNIST from the four idx files in which it is handed on. They are looked for below RELULAB_DATA, never fetched."""

import os
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import UInt8

from relulab.core.errors import UserError
from relulab.io.idx import read_idx

VARIABLE = "RELULAB_DATA"
STEMS = {"train": "train", "held out": "t10k"}
KINDS = {"images": 3, "labels": 1}
FOLDERS = ("mnist", "MNIST/raw", "MNIST", "mnist/raw", "")
HOW = (
    "get the four idx files of MNIST as they are handed on everywhere, for instance by "
    f"torchvision.datasets.MNIST(DIR, download=True), and set {VARIABLE}=DIR"
)
Part = Literal["train", "held out"]


class Digits(NamedTuple):
    """Pictures with gray values 0 (background) to 255, and the digit on each."""

    images: UInt8[np.ndarray, "N 28 28"]
    labels: UInt8[np.ndarray, " N"]


def mnist_files(folder: Path | str | None = None) -> dict[tuple[str, str], Path]:
    """The paths of the four files by part (train, held out) and kind (images, labels).

    They may lie in ``mnist``, in ``MNIST/raw`` as torchvision lays them, or in the folder itself, packed by gzip or
    not, with a dash or a dot before idx. ``folder`` is that of the variable RELULAB_DATA unless given.
    """
    given = folder or os.environ.get(VARIABLE)
    if not given:
        raise UserError(f"MNIST is needed and {VARIABLE} is not set: {HOW}")
    found = {(part, kind): _find(Path(given), part, kind) for part in STEMS for kind in KINDS}
    missing = [f"{STEMS[part]}-{kind}-idx{KINDS[kind]}-ubyte" for (part, kind), path in found.items() if path is None]
    if missing:
        looked = ", ".join(name for name in FOLDERS if name)
        raise UserError(
            f"MNIST is needed and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing below {given} "
            f"(looked there and in {looked}): {HOW}"
        )
    return {key: path for key, path in found.items() if path is not None}


def _find(root: Path, part: str, kind: str) -> Path | None:
    names = [f"{STEMS[part]}-{kind}{dash}idx{KINDS[kind]}-ubyte{packed}" for packed in ("", ".gz") for dash in "-."]
    return next((p for folder in FOLDERS for name in names if (p := root / folder / name).is_file()), None)


def mnist(part: Part, classes: tuple[int, ...] = tuple(range(10)), folder: Path | str | None = None) -> Digits:
    """The 60,000 training digits or the 10,000 held out, in the files' order; only some classes if asked.

    Args:
        part: "train" for the 60,000 training digits, "held out" for the 10,000 others.
        classes: The digits to keep; all ten by default.
        folder: Where to look for the four files, in itself or in mnist, MNIST/raw, MNIST or mnist/raw below it. None
            takes the folder that the environment variable RELULAB_DATA names.
    """
    files = mnist_files(folder)
    images, labels = (read_idx(files[part, kind]) for kind in KINDS)
    if images.ndim != 3 or images.shape[1:] != (28, 28) or labels.ndim != 1:
        raise UserError(
            f"{files[part, 'images']} has shape {images.shape} and {files[part, 'labels']} {labels.shape}: MNIST has "
            "pictures of 28 × 28 and a label for each"
        )
    if len(images) != len(labels):
        raise UserError(f"{files[part, 'images']} has {len(images)} pictures and {len(labels)} labels: get both anew")
    wanted = np.isin(labels, classes)
    return Digits(images[wanted], labels[wanted])
