"""Read files written by ``torch.save`` with PyTorch's weights-only reader, after checks that it is safe."""

import pickletools
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.guard import members, one_line, size

ALLOWED = re.compile(
    r"collections (OrderedDict|Counter)|(__builtin__|builtins) (set|complex)|"
    r"torch\._utils _rebuild_(tensor|tensor_v2|parameter)|torch\.nn\.parameter Parameter|"
    r"torch (\w+Storage|Size|device|bool|b?float\w+|u?int\d+|complex\d+)|torch\.storage (_\w+|UntypedStorage)"
)
"""What a pickle may name: the parts of plain tensors, and containers that the states of schedulers consist of."""
PICKLE = 64_000_000  # largest size in bytes of the pickle of a file, which lists its tensors
OPERATIONS = 3_000_000  # largest number of its instructions
DAMAGE = (ValueError, IndexError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error, OSError, EOFError,
          NotImplementedError, RuntimeError, OverflowError, Warning)  # fmt: skip
DEPTH = 10  # largest number of dictionaries around a state dict


def torch_document(path: Path, expected: str, saved: str) -> Any:
    """Read what ``torch.save`` has written, with PyTorch's weights-only reader, which constructs no other objects.

    Args:
        path: The file.
        expected: What the file should contain, for error messages.
        saved: The Python expression that should be saved, for error messages.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if start != b"PK\x03\x04":  # PyTorch reads a file with any other start as a pickle
        raise UserError(
            f"expected {expected}, but {path} is a plain pickle, was saved before PyTorch 1.6, or is another type of "
            f"file, and reading it could run code: save it again with torch.save({saved}, path)"
        )
    if "constants.pkl" in {name.rpartition("/")[2] for name in members(path)}:
        raise UserError(
            f"expected {expected}, but {path} is a TorchScript program: export it with torch.export, or save its "
            "state_dict()"
        )
    _check_pickle(path, saved)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged archive may raise any error in PyTorch's reader
        other_object = re.search(r"GLOBAL ([\w.]+)", str(error))
        reason = f"it contains {other_object[1]}" if other_object else error
        raise UserError(
            f"expected only tensors in {path}, but it cannot be read ({one_line(reason)}): save only {saved}"
        ) from None


def _check_pickle(path: Path, saved: str) -> None:
    """Raise a UserError if the pickle of a file builds anything but tensors, containers, numbers and text.

    PyTorch's weights-only reader also builds a ``bytearray`` of any length and other kinds of tensors. The pickle is
    only looked at here: its instructions are listed and nothing is built.
    """
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.filename.endswith("data.pkl"):
                continue
            if member.file_size > PICKLE:
                raise UserError(f"{path} has a list of tensors of {size(member.file_size)}: save fewer tensors")
            try:
                with warnings.catch_warnings(action="error"):  # about escape sequences in damaged names
                    _check_instructions(path, archive.read(member), saved)
            except UserError:
                raise
            except DAMAGE as error:
                raise UserError(f"{path} is damaged ({one_line(error)}): save it again") from None


def _check_instructions(path: Path, content: bytes, saved: str) -> None:
    for number, (code, argument, _) in enumerate(pickletools.genops(content)):
        if number > OPERATIONS:
            raise UserError(f"{path} contains too many values: save only tensors")
        name = str(argument) if code.name in ("GLOBAL", "INST") else "something without a name"
        if code.name in ("GLOBAL", "INST", "STACK_GLOBAL") and not ALLOWED.fullmatch(name):
            found = one_line(name.replace(" ", "."))
            raise UserError(f"expected only tensors in {path}, but it contains {found}: save only {saved}")


def unwrapped(path: Path, document: Any) -> dict[str, Tensor]:
    """Return the state dict inside a checkpoint, which may also contain other entries.

    Args:
        path: The file, for error messages.
        document: The contents of the file.
    """
    for _ in range(DEPTH):  # a dictionary may contain itself
        if not isinstance(document, Mapping) or _plain(document):
            break
        inside = [key for key, value in document.items() if isinstance(value, Mapping) and _has_tensors(value)]
        if len(inside) != 1:
            names = one_line(", ".join(map(str, inside[:4])))
            raise UserError(
                f"expected one state dict in {path}, got {len(inside)} ({names}): save one of them"
                if inside
                else f"expected named tensors in {path}, got other values: save model.state_dict()"
            )
        document = document[inside[0]]
    if not isinstance(document, Mapping) or not _plain(document):
        raise UserError(
            f"expected named tensors in {path}, got {one_line(type(document).__name__)}: save model.state_dict()"
        )
    return dict(document)


def _plain(document: Mapping) -> bool:
    return all(isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in document.items())


def _has_tensors(document: Mapping, depth: int = 3) -> bool:
    """Whether a mapping may contain a network; in the state of an optimizer, tensors have numbers instead of names."""
    return any(
        isinstance(name, str)
        and (isinstance(value, Tensor) or (depth and isinstance(value, Mapping) and _has_tensors(value, depth - 1)))
        for name, value in document.items()
    )
