"""Which pages are up to date: a page is written again only when something that it is made from has changed."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from relulab.lab.run.documents import write_json

FILE = "pages.json"
EVERYTHING = "the whole report"
OVERVIEW = ("index.html", "claims.html", "theorems.html", "runs.html", "search-index.js")
"""The files that show all runs together."""


class Stamps:
    """For each page, a digest of what it was made from and the files that came with it."""

    def __init__(self, out: Path):
        self.out, self.new = out, {}
        try:
            self.old: dict[str, Any] = json.loads((out / FILE).read_bytes())
        except (OSError, ValueError):
            self.old = {}

    def current(self, page: str, stamp: str) -> bool:
        """Whether a page and the files that belong to it are there, made from the same things.

        Args:
            page: The page's path below the report.
            stamp: The digest of what it is made from.
        """
        entry = self.old.get(page) if isinstance(self.old, dict) else None
        try:
            good = entry["stamp"] == stamp  # type: ignore[index]
            good = good and all((self.out / file).is_file() for file in entry["files"])  # type: ignore[index]
        except (TypeError, KeyError):
            good = False
        if good:
            self.new[page] = entry
        return good

    def complete(self, stamp: str) -> bool:
        """Whether the whole report is there, made from the same things.

        Args:
            stamp: The digest of everything that it is made from.
        """
        try:
            entries = dict(self.old.items())
            good = entries[EVERYTHING]["stamp"] == stamp
            return good and all((self.out / file).is_file() for entry in entries.values() for file in entry["files"])
        except (AttributeError, TypeError, KeyError):
            return False

    def made(self, page: str, stamp: str, folders: Iterable[Path]) -> None:
        """Notes that a page has been made, with the files in some folders."""
        files = [str(path.relative_to(self.out)) for folder in folders for path in sorted(folder.glob("*"))]
        self.new[page] = {"stamp": stamp, "files": [page, *files]}

    def write(self, everything: str) -> None:
        """Keep the stamps for the next report.

        Args:
            everything: The digest of everything that the report is made from.
        """
        self.new[EVERYTHING] = {"stamp": everything, "files": list(OVERVIEW)}
        write_json(self.out / FILE, self.new)


def stamp(files: Iterable[Path], *more: Any) -> str:
    """A digest of some files, by name, size and time, and of more that a page depends on.

    Args:
        files: The files; missing ones count as such.
        more: Anything with a ``repr`` that tells it apart.
    """
    state = [(file.name, *_state(file)) for file in files]
    return hashlib.sha256(repr((code(), state, more)).encode()).hexdigest()[:20]


def _state(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
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
