"""The lock of a run: one process at a time works on it, and others can tell which one."""

import errno
import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from relulab.core.errors import UserError
from relulab.core.files import open_inside
from relulab.core.printable import printable

FILE = "lock"
LONGEST = 1000  # bytes of the description that are read
WITHOUT = "RELULAB_NO_LOCK"
"""Environment variable that allows runs in folders whose file system has no locks."""
UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


@contextmanager
def held(folder: Path, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Lock a folder for this process. If another process has it, report that and wait.

    The operating system locks the open file, so the lock ends with the process, however it ends. The description of
    the process is removed when the block ends.

    Args:
        folder: The folder.
        on_wait: Called with a description of the other process before waiting.
    """
    with open_inside(folder, FILE, os.O_RDWR | os.O_CREAT) as file:
        if not _locked(folder, file, fcntl.LOCK_EX):
            on_wait(_words(file))
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.seek(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {datetime.now():%Y-%m-%d %H:%M:%S}".encode())
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


@contextmanager
def held_if_free(folder: Path) -> Iterator[bool]:
    """Lock a folder and yield True, or yield False if a process has it.

    Args:
        folder: The folder.
    """
    with open_inside(folder, FILE, os.O_RDWR | os.O_CREAT) as file:
        yield _locked(folder, file, fcntl.LOCK_EX)


def holder(folder: Path) -> str | None:
    """Return the process that holds a folder, in words; None if there is none.

    Args:
        folder: The folder.
    """
    try:
        with open_inside(folder, FILE) as file:
            return None if _locked(folder, file, fcntl.LOCK_SH) else _words(file)
    except (OSError, UserError):  # missing, refused, or without locks: nobody can hold it
        return None


def is_plain(folder: Path) -> bool:
    """Whether the lock file of a folder is a regular file, or there is none.

    Args:
        folder: The folder.
    """
    path = folder / FILE
    return not path.is_symlink() and (path.is_file() or not path.exists())


def names(folder: Path, process: str) -> bool:
    """Whether the lock file of a folder names a process, so that it is not another folder with the same path.

    Args:
        folder: The folder.
        process: What ``holder`` returned on the machine of the process.
    """
    try:
        with open_inside(folder, FILE) as file:
            return _words(file) == process
    except OSError:
        return False


def _words(file: BinaryIO) -> str:
    file.seek(0)
    words = file.read(LONGEST).decode("utf-8", "replace").strip()
    return printable(words) or "another process"


def _locked(folder: Path, file: BinaryIO, kind: int) -> bool:
    """Lock a file if nobody has it, and return whether it was possible."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        if not os.environ.get(WITHOUT):
            raise UserError(
                f"the file system of {folder} has no locks ({error.strerror}), so two processes could work on one run: "
                f"choose a folder on another disk with --runs, or set {WITHOUT}=1 and start each run only once"
            ) from None
    return True
