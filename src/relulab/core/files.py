"""Atomic writing: a file is either complete or absent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path`` and rename it to ``path`` when the block ends without an error.

    The folder must exist. It is not created, so that a folder deleted during a run stays deleted.

    Args:
        path: The file to write.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part{path.suffix}")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
