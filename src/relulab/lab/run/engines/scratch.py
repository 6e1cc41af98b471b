"""A temporary folder for the files of a dask cluster on this machine, removed however the run ends.

dask's own folder is shared by all clusters, and lock files stay in it after Ctrl-C.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from relulab.core.files import is_running, real_folder

NAME = "relulab-dask-{}-"


def remove_scratch() -> None:
    """Remove the folders that killed processes of this user have left."""
    for old in Path(tempfile.gettempdir()).glob(NAME.format("*") + "*"):
        process = old.name.split("-")[2]
        with suppress(OSError):
            if process.isdecimal() and not is_running(int(process)) and real_folder(old) and _is_mine(old):
                shutil.rmtree(old, ignore_errors=True)


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a new folder, and remove those that killed processes of this user have left."""
    remove_scratch()
    with tempfile.TemporaryDirectory(prefix=NAME.format(os.getpid()), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _is_mine(path: Path) -> bool:
    return path.lstat().st_uid == os.getuid()
