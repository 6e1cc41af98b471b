"""The folder of a report: it belongs to relulab, contains no links, and nothing else is overwritten or removed."""

import errno
from contextlib import suppress
from pathlib import Path, PurePath

from relulab.core.errors import UserError
from relulab.core.files import real_folder, remove_leftovers
from relulab.lab.run.documents import read_json, write_json

MARKER = "relulab-report.json"
"""The file that makes a folder a report. It is written first."""

FOLDERS = ("cards", "data", "figures", "runs", "theorems")


def take(out: Path) -> None:
    """Make a folder a report, if it is new or empty; raise a UserError if it contains something else.

    Args:
        out: The folder.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"expected a folder for the report, but {out} is a file: choose another one with --out")
    if not is_report(out):
        if out.is_dir() and any(not path.name.startswith(".relulab-") for path in out.iterdir()):
            raise UserError(
                f"{out} exists, but it is not a report of this version of relulab, so nothing is written into it: "
                "choose another folder with --out, or remove it"
            )
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / MARKER, {"relulab": "report"})
    remove_leftovers(out)
    for name in FOLDERS:
        for folder in (out / name, *(out / name).glob("*/")):
            if folder.is_symlink():
                raise UserError(f"{folder} is a link, and links in a report are not followed: remove it")
            if folder.is_dir():
                remove_leftovers(folder)


def is_report(out: Path) -> bool:
    """Whether a folder is a report.

    Args:
        out: The folder.
    """
    try:
        marker = read_json(out / MARKER)
    except (OSError, ValueError):
        return False
    return isinstance(marker, dict) and marker.get("relulab") == "report"


def place(out: Path, name: str) -> Path:
    """Return the path of a file of a report, in a folder that exists and is no link.

    Args:
        out: The folder of the report.
        name: The path of the file below it.
    """
    folder = out
    for part in PurePath(name).parts[:-1]:
        folder = folder / part
        with suppress(FileExistsError):
            folder.mkdir()
        if not real_folder(folder):
            raise NotADirectoryError(errno.ENOTDIR, "is a link or a file, but it must be a folder", str(folder))
    return out / name


def discard(out: Path, files: set[str]) -> None:
    """Remove files that an earlier report has made and that this one does not contain.

    Args:
        out: The folder of the report.
        files: Their paths below it.
    """
    for name in files:
        parts = PurePath(name).parts
        if parts[:1] and parts[0] in FOLDERS and ".." not in parts and _is_inside(out, parts[:-1]):
            with suppress(OSError):
                (out / name).unlink()
            with suppress(OSError):  # other files are in it
                (out / name).parent.rmdir()


def _is_inside(out: Path, parts: tuple[str, ...]) -> bool:
    return all(real_folder(out.joinpath(*parts[: i + 1])) for i in range(len(parts)))
