"""Checks before a file is read: that it exists, its size, and the size that an archive claims to unpack to."""

import os
import zipfile
from pathlib import Path

from relulab.core.errors import UserError

LIMIT = 4_000_000_000
"""Largest size in bytes of a file, and of the unpacked contents of an archive."""
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
