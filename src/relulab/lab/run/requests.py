"""Requests for runs, by the name of a study, a preset and changed fields, as the command line receives them.

A request is checked, and answered if its run is finished, without importing the study, which takes seconds. For this, a
finished run keeps the keys of the requests that it has answered. A key stands for the request and for all code that
decides which run answers it: if a file of relulab or of the study's package has changed, or another package has been
installed, the key is another one, and the study is imported.
"""

import hashlib
import json
import platform
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relulab.lab.index import Entry, entry
from relulab.lab.index.sketch import study_sketch
from relulab.lab.index.subjects import roots, subjects
from relulab.lab.live_code import START, package_code
from relulab.lab.run.documents import read_json, write_json
from relulab.lab.run.settings import changes
from relulab.lab.run.store import SCHEMA, Run

FILE = "requests.json"
LATEST = 20  # number of keys that a run keeps


@dataclass(frozen=True)
class Request:
    """A request for a run of a study in the index.

    Args:
        study: The entry of the study.
        preset: The preset.
        key: A checksum of the request and of the code that decides which run answers it; None if it is not certain.
    """

    study: Entry
    preset: str
    key: str | None

    def answered(self, runs: Path, device: str = "cpu") -> Run | None:
        """Return the finished run that has answered this request before, if there is one and it can be read.

        Args:
            runs: The folder of all runs.
            device: The device that units are to be computed on.
        """
        for path in sorted((runs / self.study.name).glob(f"{self.preset}-*/{FILE}")) if self.key else ():
            run = Run(path.parent)
            right = self.key in _keys(path) and run.schema == SCHEMA and run.device == device
            if right and run.finished and not run.holder:
                return run
        return None

    def remember(self, run: Run) -> None:
        """Record that a finished run answers this request.

        Args:
            run: The run.
        """
        if self.key and run.finished:
            keys = [key for key in _keys(run.path / FILE) if key != self.key]
            with suppress(OSError):  # only needed to answer sooner
                write_json(run.path / FILE, [*keys, self.key][-LATEST:])


def requested(id: str, preset: str, config: Path | None = None, assignments: Sequence[str] = ()) -> Request:
    """Return a request; raise a UserError if the study, the preset, a field or a value is wrong.

    Args:
        id: The name or id of the study.
        preset: The preset.
        config: A JSON or TOML file with fields, or None.
        assignments: ``field=value`` texts.
    """
    found = entry(id, "study")
    sketch = study_sketch(found)
    changed = changes(sketch, config, assignments)
    sketch.configured(preset, changed)
    return Request(found, preset, _key(found, preset, changed))


def _key(study: Entry, preset: str, changed: dict[str, Any]) -> str | None:
    packages = [package_code(folder) for folder in roots(subjects()[study.subject].package).values()]
    if not study.from_source or any(package.changed >= START for package in packages):
        return None
    code = [platform.python_version(), *(package.digest for package in packages), *_installed()]
    text = json.dumps([study.module, study.name, preset, changed, code], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _keys(path: Path) -> list[str]:
    """Return the keys that a run has kept; none if the file is missing or damaged."""
    try:
        keys = read_json(path)
    except (OSError, ValueError):
        return []
    return keys if isinstance(keys, list) else []


def _installed() -> list[str]:
    """Return the names and versions of all installed packages, as far as the names of folders tell them."""
    folders = [Path(place) for place in sys.path if "-packages" in place]
    return sorted({path.name for folder in folders if folder.is_dir() for path in folder.glob("*-info")})
