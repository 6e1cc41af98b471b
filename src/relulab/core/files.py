"""Files that are either whole or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path``; when the block ends well it becomes ``path`` in one step.

    The folder must be there: one that was removed under a run is not made again by the next write.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part{path.suffix}")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
