"""The manifest of a finished run: a checksum of every file that its answer consists of, and of the manifest itself.

The files of units have their own checksums (``unit_file``). What is not in the manifest is not part of the answer: the
log, the progress and the keys of requests.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from relulab.core.files import read_inside
from relulab.lab.run.documents import read_json, write_json

FILE = "manifest.json"
MOST = 10_000  # largest number of files


def write_manifest(folder: Path, files: Iterable[str], bound: dict[str, Any]) -> None:
    """Write the manifest of a run.

    Args:
        folder: The folder of the run.
        files: The paths of its files below the folder.
        bound: What the files belong to, such as the hash of the study.
    """
    content = {**bound, "files": {name: checksum(folder, name) for name in sorted(files)}}
    write_json(folder / FILE, {**content, "checksum": _own(content)})


def damages(folder: Path, bound: dict[str, Any]) -> list[str] | None:
    """Return the files of a run that are missing or were changed; None if there is no manifest.

    Args:
        folder: The folder of the run.
        bound: What the files must belong to.
    """
    try:
        content = read_json(folder / FILE)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return [FILE]
    if not isinstance(content, dict) or content.pop("checksum", None) != _own(content):
        return [FILE]
    files: Any = content.get("files")
    if any(content.get(key) != value for key, value in bound.items()) or not _is_list_of_files(files):
        return [FILE]
    return [name for name, expected in files.items() if not _is_intact(folder, name, expected)]


def listed(folder: Path) -> list[str]:
    """Return the files that the manifest of a run names; none if it cannot be read.

    Args:
        folder: The folder of the run.
    """
    try:
        files = read_json(folder / FILE)["files"]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    return list(files) if _is_list_of_files(files) else []


def _is_list_of_files(files: Any) -> bool:
    """Whether a manifest lists files by names that relulab gives, with checksums."""
    return (
        isinstance(files, dict)
        and len(files) <= MOST
        and all(
            len(name) < 400 and name.isprintable() and isinstance(expected, str) for name, expected in files.items()
        )
    )


def checksum(folder: Path, name: str) -> str:
    """Return the checksum of a file of a run.

    Args:
        folder: The folder of the run.
        name: The path of the file below the folder.
    """
    return hashlib.sha256(read_inside(folder, name)).hexdigest()


def _is_intact(folder: Path, name: str, expected: str) -> bool:
    try:
        return checksum(folder, name) == expected
    except OSError:
        return False


def _own(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
