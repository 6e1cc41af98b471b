"""What is looked at before a file is read: its size, and of an archive the size it says it unpacks to."""

import os
import zipfile
from pathlib import Path

from relulab.core.errors import UserError

LIMIT = 4_000_000_000
"""Bytes that a file, or what an archive unpacks to, may have."""
BOMB = 200  # times smaller than what is in it: no archive of trained weights or of data is packed so tightly
SMALL = 64_000_000  # bytes that may be packed as tightly as one likes: arrays of zeros are


def size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.3g} MB"


def said(what: object) -> str:
    """What a file or its reader says, fit for a sentence: one line, of some length, without control characters."""
    line = " ".join(str(what).split())
    return "".join(c if c.isprintable() else "�" for c in line[:200]) or type(what).__name__


def checked(path: Path | str, limit: int = LIMIT) -> Path:
    """The path, if it leads to a file of a size that can be read whole."""
    path = Path(path)
    try:
        info = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise UserError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not path.is_file():
        raise UserError(f"{path} is {'a folder' if path.is_dir() else 'no plain file'}: a file was expected")
    if info.st_size > limit:
        raise UserError(f"{path} has {size(info.st_size)}, more than the {size(limit)} that are read")
    if not info.st_size:
        raise UserError(f"{path} is empty")
    if not os.access(path, os.R_OK):
        raise UserError(f"{path} may not be read by this user")
    return path


def members(path: Path, limit: int = LIMIT) -> dict[str, zipfile.ZipInfo]:
    """The table of contents of a zip archive whose members are of a sane size."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UserError(f"{path} is no zip archive, or a damaged one: {said(error)}") from None
    whole = sum(member.file_size for member in found)
    if whole > limit or (whole > SMALL and whole > BOMB * path.stat().st_size):
        raise UserError(f"{path} has {size(path.stat().st_size)} but unpacks to {size(whole)}: refused")
    if len({member.filename for member in found}) < len(found):
        raise UserError(f"{path} holds two members of one name: refused")
    if any(not member.filename.isprintable() for member in found):
        raise UserError(f"{path} holds a member whose name cannot be printed: refused")
    if any(member.flag_bits & 1 for member in found):
        raise UserError(f"{path} is encrypted")
    return {member.filename: member for member in found}
