"""One budget for every reader: bytes in the file, bytes in memory, tensors, columns, members of an archive.

It is checked before and while a file is read, and a file that exceeds it is refused in one sentence.
"""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from relulab.core.errors import UserError
from relulab.core.files import LARGEST

LIMIT = LARGEST
"""Largest size in bytes of a file, and of the unpacked contents of an archive."""
TENSORS = 5_000
"""Largest number of tensors in a file, and of members of an archive."""
COLUMNS = 20_000
"""Largest number of columns of a table."""
BOMB = 200  # compression ratio above which an archive is refused; weights and data never reach it
SMALL = 64_000_000  # unpacked size in bytes up to which any compression ratio is allowed, as for arrays of zeros


def size(count: int) -> str:
    """Format a number of bytes."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.3g} MB"


def one_line(value: object) -> str:
    """Format text from a file or a reader for an error message: one line, at most 200 printable characters."""
    line = " ".join(str(value).split())
    return "".join(c if c.isprintable() else "�" for c in line[:200]) or type(value).__name__


def checked(path: Path | str, limit: int = LIMIT) -> Path:
    """Return the path if it is a readable file of at most ``limit`` bytes; otherwise raise ``UserError``.

    Args:
        path: The file.
        limit: The largest size in bytes.
    """
    path = Path(path)
    try:
        info = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise UserError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise UserError(f"expected a file, but {path} is {kind}: give the path of a file")
    if info.st_size > limit:
        raise UserError(f"{path} has {size(info.st_size)}, but at most {size(limit)} can be read: use a smaller file")
    if not info.st_size:
        raise UserError(f"{path} is empty: write it again")
    if not os.access(path, os.R_OK):
        raise UserError(f"cannot read {path}: permission denied")
    return path


def check_expanded(path: Path | str, taken: int) -> None:
    """Raise a UserError if the numbers in a file would take much more memory than its size explains.

    Numbers are computed with as 4 or 8 bytes each, so a small file of packed bytes can need a hundred times its size.

    Args:
        path: The file.
        taken: The size of its numbers in memory, in bytes.
    """
    limit = unpack_limit(Path(path))
    if taken > limit:
        raise UserError(
            f"{path} has {size(Path(path).stat().st_size)}, but its numbers take {size(taken)} of memory, and at most "
            f"{size(limit)} are allowed for it: use fewer points"
        )


def check_columns(path: Path | str, count: int) -> None:
    """Raise a UserError if a table has too many columns.

    Args:
        path: The file.
        count: The number of columns.
    """
    if count > COLUMNS:
        raise UserError(f"{path} has {count:,} columns, but at most {COLUMNS:,} are read: use fewer columns")


@contextmanager
def enough_memory(path: Path | str) -> Iterator[None]:
    """Raise a UserError if memory runs out while a file is read.

    Args:
        path: The file.
    """
    try:
        yield
    except MemoryError:
        raise UserError(f"there is not enough memory to read {path}: use a smaller file") from None
    except RuntimeError as error:
        if "allocate memory" not in str(error):
            raise
        raise UserError(f"there is not enough memory to read {path}: use a smaller file") from None


def unpack_limit(path: Path, limit: int = LIMIT) -> int:
    """Return the largest size in bytes to which a compressed file may unpack.

    Args:
        path: The file.
        limit: The largest size for any file.
    """
    return min(limit, max(SMALL, BOMB * path.stat().st_size))


def members(path: Path, limit: int = LIMIT) -> dict[str, zipfile.ZipInfo]:
    """Return the members of a zip archive by name, after checking their sizes and names.

    Args:
        path: The archive.
        limit: The largest total size in bytes after unpacking.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UserError(
            f"expected a zip archive, but {path} is another type of file or damaged ({one_line(error)}): save it again"
        ) from None
    if len(entries) > TENSORS:
        raise UserError(f"{path} has {len(entries):,} members, but at most {TENSORS:,} are read: use a smaller file")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > unpack_limit(path, limit):
        raise UserError(
            f"{path} has {size(path.stat().st_size)} but unpacks to {size(unpacked)}, which is not safe to read: save "
            "it without compression, with fewer data"
        )
    if len({entry.filename for entry in entries}) < len(entries):
        raise UserError(f"{path} contains two members with the same name: save it again")
    if any(not entry.filename.isprintable() for entry in entries):
        raise UserError(f"{path} contains a member whose name has unprintable characters: rename it")
    if any(entry.flag_bits & 1 for entry in entries):
        raise UserError(f"{path} is encrypted: save it without a password")
    return {entry.filename: entry for entry in entries}
