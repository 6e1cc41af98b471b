"""Which pages are up to date: a page is written again only when something that it is made from has changed."""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from relulab.lab.run.documents import read_json, write_json
from relulab.lab.show.report.report_folder import discard

FILE = "pages.json"
EVERYTHING = "the whole report"
OVERVIEW = ("index.html", "claims.html", "theorems.html", "runs.html", "search-index.js")
"""The files that show all runs together."""


class Stamps:
    """For each page, a digest of what it was made from and the files that came with it."""

    def __init__(self, out: Path):
        self.out, self.new = out, {}
        self.old: dict[str, Any] = _entries(out)

    def current(self, page: str, stamp: str) -> bool:
        """Whether a page and the files that belong to it are there, made from the same things.

        Args:
            page: The page's path below the report.
            stamp: The digest of what it is made from.
        """
        entry = self.old.get(page)
        if entry and entry["stamp"] == stamp and self._are_there(entry["files"]):
            self.new[page] = entry
            return True
        return False

    def complete(self, stamp: str) -> bool:
        """Whether the whole report is there, made from the same things.

        Args:
            stamp: The digest of everything that it is made from.
        """
        if EVERYTHING not in self.old or self.old[EVERYTHING]["stamp"] != stamp:
            return False
        return all(self._are_there(entry["files"]) for entry in self.old.values())

    def _are_there(self, files: list[str]) -> bool:
        return all((self.out / file).is_file() for file in files)

    def made(self, page: str, stamp: str, folders: Iterable[Path], *more: str) -> None:
        """Notes that a page has been made, with the files in some folders."""
        made = [path for folder in folders for path in sorted(folder.glob("*")) if not path.name.startswith(".")]
        self.new[page] = {"stamp": stamp, "files": [page, *(str(path.relative_to(self.out)) for path in made), *more]}

    def write(self, everything: str) -> None:
        """Keep the stamps for the next report, and remove what only the last one contained.

        Args:
            everything: The digest of everything that the report is made from.
        """
        self.new[EVERYTHING] = {"stamp": everything, "files": list(OVERVIEW)}
        discard(self.out, _files(self.old) - _files(self.new))
        write_json(self.out / FILE, self.new)


def _files(entries: dict[str, Any]) -> set[str]:
    return {file for entry in entries.values() for file in entry["files"]}


def _entries(out: Path) -> dict[str, Any]:
    """The entries of the last report; none if they are not of the form that ``Stamps.write`` writes."""
    try:
        pages = read_json(out / FILE)
        good = all(isinstance(e["stamp"], str) and all(isinstance(f, str) for f in e["files"]) for e in pages.values())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
    return pages if good else {}


def stamp(files: Iterable[Path], *more: Any) -> str:
    """A digest of some files, by name, size and time, and of more that a page depends on.

    Args:
        files: The files; missing ones count as such.
        more: Anything with a ``repr`` that tells it apart.
    """
    state = [(file.name, *_state(file)) for file in files]  # names by repr, which any name has
    return hashlib.sha256(repr((code(), state, more)).encode()).hexdigest()[:20]


def _state(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return -1, -1
    return status.st_size, status.st_mtime_ns


@cache
def code() -> str:
    """A digest of the templates and of the code that fills them."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*here.glob("*.py"), *here.parent.glob("*.py"), *here.glob("templates/*")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
