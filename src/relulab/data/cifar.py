"""Read CIFAR-10 and CIFAR-100 from their binary files, which must be in the folder RELULAB_DATA. Nothing is downloaded.

A file is a sequence of records without a header: one byte for the class (CIFAR-100: one for the coarse class, then one
for the fine class), then 3,072 bytes for the picture, 1,024 each for red, green and blue, row by row.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float32, UInt8
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.short_repr import counted, short_repr
from relulab.data.data_folder import VARIABLE, Part, data_folder, find_file, searched
from relulab.data.standardized import standardized
from relulab.io.guard import checked, enough_memory, one_line

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
HOW = (
    "download the binary version, cifar-10-binary.tar.gz, from https://www.cs.toronto.edu/~kriz/cifar.html, unpack it "
    f"in a folder DIR, and set the environment variable {VARIABLE}=DIR"
)
"""how to get CIFAR-10"""


class Format(NamedTuple):
    """The files of one of the two data sets, and the label bytes at the start of each record, the class last."""

    folder: str
    files: dict[str, tuple[str, ...]]
    labels: dict[str, int]
    names: dict[str, str]

    @property
    def places(self) -> tuple[str, str]:
        """Where the files may be, below the given folder."""
        return self.folder, ""


FORMATS = {
    10: Format(
        "cifar-10-batches-bin",
        {"train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "held out": ("test_batch.bin",)},
        {"class": 10},
        {"class": "batches.meta.txt"},
    ),
    100: Format(
        "cifar-100-binary",
        {"train": ("train.bin",), "held out": ("test.bin",)},
        {"coarse class": 20, "class": 100},
        {"coarse class": "coarse_label_names.txt", "class": "fine_label_names.txt"},
    ),
}


class Pictures(NamedTuple):
    """Color pictures with values from 0 to 255, and what each of them shows.

    Attributes:
        images: The pictures: red, green and blue, row by row.
        labels: The class of each picture, from 0.
        names: The name of every class; empty if there is no file with the names.
        files: The names of the files that were found and read. All of CIFAR-10 has five for training.
        coarse: In CIFAR-100, the coarse class of each picture, from 0 to 19; else None.
        coarse_names: The name of every coarse class; empty if there is no file with the names.
    """

    images: UInt8[np.ndarray, "N 3 32 32"]
    labels: UInt8[np.ndarray, " N"]
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    coarse: UInt8[np.ndarray, " N"] | None = None
    coarse_names: tuple[str, ...] = ()

    __repr__ = short_repr

    def standardized(self, train: "Pictures") -> Float32[Tensor, "N 3 32 32"]:
        """Return the pictures with the mean and the standard deviation of every channel in a training set removed.

        Args:
            train: The training set.
        """
        return standardized(self.images, train.images)


def how_to_get(kind: Literal[10, 100]) -> str:
    """Say how to get the files.

    Args:
        kind: 10 for CIFAR-10, 100 for CIFAR-100.
    """
    return HOW.replace("cifar-10-", f"cifar-{kind}-")


def cifar_files(kind: Literal[10, 100], part: Part, folder: Path | str | None = None) -> list[Path]:
    """Find the binary files of CIFAR-10 or CIFAR-100, of CIFAR-10 as many of the five training batches as there are.

    They may be in the folder itself, or in the folder of the archive, ``cifar-10-batches-bin`` or ``cifar-100-binary``.

    Args:
        kind: 10 for CIFAR-10, 100 for CIFAR-100.
        part: "train" or "held out".
        folder: The folder to search. Default: the environment variable RELULAB_DATA.
    """
    form, what, how = _format(kind), f"CIFAR-{kind}", how_to_get(kind)
    if part not in form.files:
        raise UserError(f'expected the part "train" or "held out", got {part!r}')
    root = data_folder(f"{what} is", how, folder)
    found = [path for name in form.files[part] if (path := find_file(root, form.places, (name,)))]
    if not found:
        names = f"any of {', '.join(form.files[part])}" if len(form.files[part]) > 1 else form.files[part][0]
        pickled = root / form.folder.replace("-batches-bin", "-batches-py").replace("-binary", "-python")
        note = f"; the version in {pickled.name} is pickled, and pickles are not read" if pickled.is_dir() else ""
        raise UserError(
            f"{what} is required, but {root} does not contain {names} ({searched(form.places)}{note}): {how}"
        )
    return found


def cifar(
    kind: Literal[10, 100], part: Part, classes: Sequence[int] | None = None, folder: Path | str | None = None
) -> Pictures:
    """Read the training or test pictures of CIFAR-10 or CIFAR-100 from the binary version, in the order of the files.

    Some of the five training batches of CIFAR-10 are enough; ``files`` of the result says which were found.

    Args:
        kind: 10 for CIFAR-10, 100 for CIFAR-100.
        part: "train" for the training pictures, "held out" for the held-out ones.
        classes: The classes to keep, by number. Default: all.
        folder: The folder with the binary files, or with a subfolder cifar-10-batches-bin or cifar-100-binary that
            contains them. Default: the environment variable RELULAB_DATA.
    """
    form, files = _format(kind), cifar_files(kind, part, folder)
    wanted = range(kind) if classes is None else list(classes)
    if wrong := [label for label in wanted if label not in range(kind)]:
        raise UserError(f"expected classes from 0 to {kind - 1}, got {wrong[0]}: CIFAR-{kind} has {kind} classes")
    names = {label: _names(files[0].parent / name, form.labels[label]) for label, name in form.names.items()}
    kept, first = [], len(form.labels)
    for path in files:
        records = _records(path, form.labels)
        kept.append(records if classes is None else records[np.isin(records[:, first - 1], [int(c) for c in wanted])])
    images = np.concatenate([records[:, first:] for records in kept]).reshape(-1, *SHAPE)
    columns = {label: np.concatenate([records[:, i] for records in kept]) for i, label in enumerate(form.labels)}
    return Pictures(
        images, columns["class"], names["class"], tuple(path.name for path in files), columns.get("coarse class"),
        names.get("coarse class", ()),
    )  # fmt: skip


def _format(kind: int) -> Format:
    if kind not in FORMATS:
        raise UserError(f"expected 10 for CIFAR-10 or 100 for CIFAR-100, got {kind!r}")
    return FORMATS[kind]


def _records(path: Path, labels: dict[str, int]) -> UInt8[np.ndarray, "N bytes"]:
    """Read the records of a file, and check its length and its labels."""
    length = len(labels) + PIXELS
    with enough_memory(path):
        try:
            content = np.frombuffer(checked(path).read_bytes(), np.uint8)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    whole, rest = divmod(len(content), length)
    if rest:
        raise UserError(
            f"expected records of {length:,} bytes in {path}, got {len(content):,} bytes, which are "
            f"{counted(whole, 'record')} and {counted(rest, 'byte')}: the file is cut off or of another data set; "
            "download it again"
        )
    records = content.reshape(-1, length)
    for i, (label, count) in enumerate(labels.items()):
        wrong = np.flatnonzero(records[:, i] >= count)
        if len(wrong):
            raise UserError(
                f"expected every {label} in {path} to be from 0 to {count - 1}, got {records[wrong[0], i]} in record "
                f"{wrong[0]:,} (counting from 0): the file is damaged or of another data set; download it again"
            )
    return records


def _names(path: Path, count: int) -> tuple[str, ...]:
    """Read the names of the classes, one per line; none if there is no such file."""
    if not path.is_file():
        return ()
    try:
        lines = checked(path).read_text(encoding="utf-8").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        raise UserError(f"expected names of classes in {path}, got {one_line(error)}: download it again") from None
    names = tuple(one_line(line) for line in lines if line.strip())
    if len(names) != count:
        raise UserError(
            f"expected {count} names of classes in {path}, one per line, got {len(names)}: download it again, or "
            "remove it"
        )
    return names
