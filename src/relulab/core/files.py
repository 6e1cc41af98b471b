"""Files that are complete or absent, and files that are really inside their folder."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import BinaryIO

LARGEST = 4_000_000_000
"""Largest size in bytes of a file that is read."""

TEMPORARY = ".relulab-{}-{}.tmp"
"""Name of a file that is being written: the process and a random word. No reader of relulab looks at such names."""


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path`` and rename it to ``path`` when the block ends without an error.

    The folder must exist. It is not created, so that a folder deleted during a run stays deleted.

    Args:
        path: The file to write.
    """
    part = path.with_name(TEMPORARY.format(os.getpid(), secrets.token_hex(6)))
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666))  # never through a link
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        # Errors of a write have no name, and the user knows the other one.
        if error.errno is not None and error.filename in (None, str(part)):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        part.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of ended processes from a folder, but not from the folders in it.

    Args:
        folder: The folder.
    """
    for path in folder.glob(TEMPORARY.format("*", "*")):
        process = path.name.split("-")[1]
        if process.isdecimal() and not is_running(int(process)):
            path.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Whether a process of this machine is running.

    Args:
        process: Its number.
    """
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def real_folder(path: Path) -> bool:
    """Whether a path is a folder and not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def open_inside(folder: Path, name: str, flags: int = os.O_RDONLY) -> BinaryIO:
    """Open a regular file below a folder. Links are not followed, so the file is really there.

    A pipe or a device is refused before it is opened, and a file with several names is not opened for writing.

    Args:
        folder: The folder, which may be reached through links.
        name: The path of the file below the folder.
        flags: Flags of ``os.open``.

    Raises:
        OSError: If the file does not exist, cannot be opened, or is refused.
    """
    *folders, last = PurePath(name).parts or ("",)
    if not last or ".." in (*folders, last) or PurePath(name).is_absolute():
        raise OSError(errno.EINVAL, "is not inside the folder", str(folder / name))
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            inner = _opened(part, os.O_RDONLY | os.O_DIRECTORY, at, folder / name)
            os.close(at)
            at = inner
        with suppress(FileNotFoundError):
            _check(os.stat(last, dir_fd=at, follow_symlinks=False), flags, folder / name)
        file = _opened(last, flags | os.O_NONBLOCK, at, folder / name)
    finally:
        os.close(at)
    try:
        _check(os.fstat(file), flags, folder / name)
        return os.fdopen(file, "r+b" if flags & os.O_RDWR else "ab" if flags & os.O_APPEND else "rb")
    except BaseException:
        os.close(file)
        raise


def read_inside(folder: Path, name: str, limit: int = LARGEST) -> bytes:
    """Return the bytes of a regular file below a folder, as ``open_inside`` finds it.

    Args:
        folder: The folder.
        name: The path of the file below the folder.
        limit: The largest size in bytes.

    Raises:
        OSError: If the file is refused, missing or larger.
    """
    with open_inside(folder, name) as file:
        length = os.fstat(file.fileno()).st_size
        content = file.read(min(length, limit) + 1)  # Python reserves as much memory as it is asked to read
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"has more than {limit:,} bytes", str(folder / name))
    return content


def _opened(name: str, flags: int, at: int, path: Path) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=at)
    except OSError as error:
        is_link = error.errno in (errno.ELOOP, errno.EMLINK) or (error.errno == errno.ENOTDIR and _is_link(name, at))
        words = "is reached through a link, which is not followed" if is_link else error.strerror
        raise OSError(error.errno, words, str(path)) from None


def _is_link(name: str, at: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)


def _check(status: os.stat_result, flags: int, path: Path) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "is reached through a link, which is not followed", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    if flags & (os.O_WRONLY | os.O_RDWR) and status.st_nlink > 1:
        raise OSError(errno.EMLINK, "has several names, so it is not written to", str(path))
