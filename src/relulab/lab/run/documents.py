"""JSON documents and other small files, written atomically and read without following links."""

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from relulab.core.errors import UserError
from relulab.core.files import atomic, read_inside
from relulab.lab.well_formed import is_name

DOCUMENT = 64_000_000
"""Largest size in bytes of a JSON document that is read."""

PICTURES = (".png", ".svg", ".pdf")
"""File formats for a figure at a path that the user chooses."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with atomic(path) as part:
        part.write_bytes(content)


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document atomically."""
    write_bytes(path, json_bytes(document))


def json_bytes(document: Any) -> bytes:
    """Return the bytes of a JSON document."""
    return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_json(path: Path) -> Any:
    """Read a JSON document; raise a ValueError if it is malformed, and an OSError if it is no regular file."""
    try:
        return json.loads(read_inside(path.parent, path.name, DOCUMENT))
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write an .npz file. It is made in memory, so that a full disk only affects one plain write."""
    import numpy as np

    content = BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_bytes(path, content.getvalue())


def check_place(path: Path, endings: Sequence[str]) -> None:
    """Raise a UserError if a file cannot be written at ``path`` or its ending is not one of ``endings``."""
    if path.suffix not in endings:
        raise UserError(f"cannot write {path}: expected a file name that ends in {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise UserError(f"cannot write {path}: the folder {path.parent} does not exist, create it first")


def file_name(kind: str, name: Any) -> str:
    """Return ``name`` if it can be used as a file name; raise a UserError if not."""
    if not is_name(name):
        raise UserError(f"{kind} name {name!r} cannot be a file name: use at most 100 letters, digits, and . _ - +")
    return name
