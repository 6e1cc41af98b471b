"""The store of runs, runs/<study>/<preset>-<hash>/. A kill at any moment loses only the units in progress.

The folder of a run may come from somebody else, so its files are opened without following links, and a folder without
the marker that ``Run.create`` writes is not touched.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relulab.core.errors import UserError
from relulab.core.files import open_inside, real_folder, remove_leftovers
from relulab.core.printable import shortened
from relulab.lab.run import lock
from relulab.lab.run.documents import file_name, read_json, write_json
from relulab.lab.run.known_fields import PROGRESS, STATUS, are_claims, known
from relulab.lab.run.manifest import damages, write_manifest
from relulab.lab.run.unit_store import UnitStore
from relulab.lab.study import Study

SCHEMA = 2
"""Version of the layout of a run's folder."""

MARKER = "relulab-run.json"
"""The file that makes a folder a run. It is written first and contains the schema."""

MOVING = {"gif": "gif", "still": "still.png"}
"""Endings of the files of an animation: the animation, and its last frame for readers who prefer no motion."""

FOLDERS = ("units", "checkpoints", "figures")


def is_run(path: Path) -> bool:
    """Whether a folder is a run: no link, in a folder that is no link, with the marker."""
    if not (real_folder(path) and real_folder(path.parent)):
        return False
    try:
        marker = read_json(path / MARKER)
    except (OSError, ValueError):
        return False
    return isinstance(marker, dict) and marker.get("relulab") == "run"


def runs_in(root: Path) -> list[Run]:
    """Return all runs in the folder ``root``, sorted by study and name."""
    return [Run(path.parent) for path in sorted(root.glob(f"*/*/{MARKER}")) if is_run(path.parent)]


@dataclass(frozen=True)
class Run:
    """The folder of one study with one configuration."""

    path: Path

    @classmethod
    def of(cls, study: Study, preset: str, runs: Path, hash: str | None = None) -> Run:
        """Return the run of a configured study in the folder ``runs``; ``hash`` replaces that of the study."""
        name = f"{file_name('preset', preset)}-{hash or study.hash}"
        return cls(runs / file_name("study", study.name) / name)

    @property
    def hash(self) -> str:
        """The hash of the study when the run was named."""
        return self.path.name.rpartition("-")[2]

    def create(self) -> None:
        """Create the folder with its marker, if it does not exist; raise a UserError if it is something else."""
        for folder in (self.path.parent, self.path):
            with suppress(FileExistsError):
                folder.mkdir(parents=True)
            if not real_folder(folder):
                raise UserError(f"{folder} is a link, and links are not followed: choose another folder with --runs")
        if not is_run(self.path):
            if any(not path.name.startswith((".relulab-", lock.FILE)) for path in self.path.iterdir()):
                raise UserError(
                    f"{self.path} exists, but its {MARKER} is missing or damaged, so it is not a run of this version "
                    "of relulab: choose another folder with --runs, or remove it"
                )
            self._mark()

    @contextmanager
    def held(self, on_wait: Callable[[str], None]) -> Iterator[None]:
        """Create the run and lock it for this process. If another process has it, report that and wait.

        Args:
            on_wait: Called with a description of the other process before waiting.
        """
        self.create()
        with lock.held(self.path, on_wait):
            yield

    def prepare(self) -> None:
        """Create the folders of a locked run and remove what a killed process left half-written."""
        for folder in (self.path, *(self.path / name for name in FOLDERS)):
            with suppress(FileExistsError):
                folder.mkdir()
            if not real_folder(folder):
                raise UserError(f"{folder} is a link or a file, but it must be a folder: remove it")
            remove_leftovers(folder)
        self._mark()
        self.units.forget_finished()

    def _mark(self) -> None:
        """Write the marker, unless it is there and undamaged."""
        marker = {"relulab": "run", **self._bound}
        if self._document(MARKER) != marker:
            write_json(self.path / MARKER, marker)

    def remove(self) -> bool:
        """Remove the run and return True, or return False if a process is working on it or it is no run."""
        if not is_run(self.path):
            return False
        # A lock that is a link or a pipe cannot be held by any process.
        with lock.held_if_free(self.path) if lock.is_plain(self.path) else nullcontext(True) as free:
            if not free:
                return False
            shutil.rmtree(self.path)  # removes links, but not what they lead to
        with suppress(OSError):  # the study has other runs
            self.path.parent.rmdir()
        return True

    @property
    def schema(self) -> Any:
        """The recorded layout of the folder; the current one if the folder is new."""
        return self._document(MARKER).get("schema", SCHEMA)

    @property
    def holder(self) -> str | None:
        """The process that is working on the run, in words; None if there is none."""
        return lock.holder(self.path)

    @property
    def device(self) -> str | None:
        """The device that its units were computed on; None before the first unit."""
        device = self._document("env.json").get("device")
        return device if isinstance(device, str) else None

    @property
    def state(self) -> str:
        """One of: running, finished, failed, interrupted, stopped (its process ended without notice), or damaged."""
        if self.schema != SCHEMA:
            return shortened(f"schema {self.schema}")
        recorded = self.status.get("state", "stopped")
        if self.holder:
            return "running"
        if recorded == "finished" and not self.finished:
            return "damaged"
        return "stopped" if recorded == "running" else recorded

    @property
    def size(self) -> int:
        """Size on disk, in bytes."""
        files = [Path(top) / name for top, _, names in os.walk(self.path) for name in names]
        return sum(path.lstat().st_size for path in files)

    @property
    def units(self) -> UnitStore:
        """The results of its units."""
        return UnitStore(self.path)

    @property
    def about(self) -> dict:
        """The contents of config.json; empty if it is missing or damaged."""
        return self._document("config.json")

    @property
    def names(self) -> set[str]:
        """The name and ids of its study, in lower case."""
        ids = self.about.get("ids")
        return {str(name).lower() for name in (self.path.parent.name, *(ids if isinstance(ids, list) else ()))}

    @property
    def status(self) -> dict:
        """The known fields of status.json; empty if it is missing or damaged."""
        return known(self._document("status.json"), STATUS)

    @property
    def progress(self) -> dict:
        """The last recorded progress (``relulab.lab.run.meter``); empty before the first step."""
        progress = known(self._document("progress.json"), PROGRESS)
        return progress if len(progress) == len(PROGRESS) else {}

    def _document(self, name: str, kind: type = dict) -> Any:
        try:
            document = read_json(self.path / name)
        except (OSError, ValueError):
            return kind()
        return document if isinstance(document, kind) else kind()

    def seal(self, files: Sequence[str]) -> None:
        """Write the manifest, with which the run is finished.

        Args:
            files: The paths of all files of its answer below the folder.
        """
        for name in FOLDERS:
            remove_leftovers(self.path / name)  # of workers that were lost
        write_manifest(self.path, [MARKER, *files], self._bound)

    @property
    def damages(self) -> list[str] | None:
        """The files of a finished run that are missing or were changed; None if it has not been finished."""
        return damages(self.path, self._bound)

    @property
    def finished(self) -> bool:
        """Whether the run is complete and undamaged; if not, running it again repairs it."""
        return is_run(self.path) and self.damages == []

    @property
    def _bound(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "study": self.path.parent.name, "run": self.path.name}

    @property
    def summary(self) -> dict:
        """The study, preset, folder, seconds, seed-steps and claims of a finished run."""
        about, status = known(self.about, {"study": (str,), "preset": (str,)}), self.status
        claims = self._document("claims.json", list)
        if len(about) < 2 or not {"seconds", "seed_steps"} <= set(status) or not are_claims(claims):
            raise UserError(
                f"config.json, status.json or claims.json of {self.path} does not contain what relulab writes, "
                "although the manifest fits: remove the run with relulab clean, and run the study again"
            )
        symbols = self.about.get("symbols")
        return {
            **about,
            "run": str(self.path),
            "seconds": status["seconds"],
            "seed_steps": status["seed_steps"],
            "claims": claims,
            "symbols": symbols if isinstance(symbols, dict) else {},
        }

    def log(self, **event: Any) -> None:
        """Append a line to log.jsonl. An incomplete last line, left by a full disk, is ended first."""
        with open_inside(self.path, "log.jsonl", os.O_RDWR | os.O_APPEND | os.O_CREAT) as file:
            if file.seek(0, os.SEEK_END) and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                file.write(b"\n")
            file.write(json.dumps(event, ensure_ascii=False).encode() + b"\n")
