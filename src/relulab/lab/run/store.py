"""The run store: runs/<study>/<preset>-<hash>/, written so that a kill at any instant loses only work under way."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from relulab.core.errors import UserError
from relulab.core.files import atomic as atomic
from relulab.lab.study import Study, Unit

SCHEMA = 1
"""Counts changes of the layout of a run's folder; a run says in config.json which one it has."""

PICTURES = (".png", ".svg", ".pdf")
"""Endings under which a figure is written where a user wants it."""

MOVING = {"gif": "gif", "still": "still.png"}
"""The files of an animation by their endings: what moves, and its last frame for those who prefer that nothing does."""


def write_json(path: Path, document: Any) -> None:
    with atomic(path) as part:
        part.write_text(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """The document in a file; whatever is wrong with its text is a ValueError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None


def encode(data: xr.Dataset) -> bytes:
    """The bytes of a netCDF file. Made in memory, so that a full disk is met by one plain write."""
    return bytes(data.to_netcdf(engine="h5netcdf"))


def write_bytes(path: Path, content: bytes) -> None:
    with atomic(path) as part:
        part.write_bytes(content)


def write_arrays(path: Path, **arrays: Any) -> None:
    """An npz file; made in memory, as ``encode`` does."""
    content = BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_bytes(path, content.getvalue())


def read_dataset(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="h5netcdf") as data:
        return data.load()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def check_place(path: Path, endings: Sequence[str]) -> None:
    """That a file can be written there, before the work is done that it is to hold."""
    if path.suffix not in endings:
        raise UserError(f"{path}: written is {' or '.join(endings)}, not {path.suffix or 'a file without an ending'}")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}")


def write_checked(path: Path, content: bytes) -> None:
    """Writes a file, then its checksum beside it."""
    write_bytes(path, content)
    write_bytes(path.with_name(f"{path.name}.sha256"), _digest(content).encode())


def intact(path: Path) -> bool:
    """Whether a file is there as ``write_checked`` wrote it."""
    try:
        return path.with_name(f"{path.name}.sha256").read_text() == _digest(path.read_bytes())
    except (OSError, ValueError):
        return False


def _file_name(kind: str, name: str) -> str:
    """``name``, if it can be the name of a file and nothing else."""
    if not re.fullmatch(r"[^\W_][\w.×+-]*", name):
        raise UserError(f"{kind} {name!r}: letters, digits and . _ - + make a name that can also be a folder's")
    return name


def _files(entry: Any) -> list[str]:
    """The files without which a figure, listed by its name, or an animation, by a form, counts as lost."""
    if isinstance(entry, dict):
        return [f"{entry['animation']}.{ending}" for ending in MOVING.values()]
    return [f"{entry}.svg"]


def runs_in(root: Path) -> list["Run"]:
    """Every run below ``root``, by study and name."""
    return [Run(path.parent) for path in sorted(root.glob("*/*/config.json"))]


@dataclass(frozen=True)
class Run:
    """The folder of one study on one configuration."""

    path: Path

    @classmethod
    def of(cls, study: Study, preset: str, runs: Path) -> "Run":
        return cls(runs / _file_name("study", study.name) / f"{_file_name('preset', preset)}-{study.hash}")

    @contextmanager
    def held(self, on_wait: Callable[[str], None]) -> Iterator[None]:
        """The run for this process alone; a second one says who holds it and waits.

        The lock is the system's, on the open file, so it ends with the process that holds it, however that ends.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                on_wait(file.read().strip() or "another process")
                fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()} since {datetime.now():%Y-%m-%d %H:%M:%S}")
            file.flush()
            yield

    def prepare(self) -> None:
        """The folders of a run that this process holds, without what a killed one was writing."""
        for folder in (self.path, self.path / "units", self.path / "figures"):
            folder.mkdir(exist_ok=True)
            for part in folder.glob(".*.part*"):
                part.unlink()
        self.forget()

    def remove(self) -> bool:
        """Takes the run away, unless a process works on it."""
        with (self.path / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            shutil.rmtree(self.path)
        with suppress(OSError):  # the study has other runs
            self.path.parent.rmdir()
        return True

    @property
    def schema(self) -> Any:
        """The layout that the folder says it has; ours when it is new, or damaged and about to be made again."""
        try:
            return read_json(self.path / "config.json").get("schema", SCHEMA)
        except (OSError, ValueError, AttributeError):
            return SCHEMA

    @property
    def holder(self) -> str | None:
        """Who works on the run just now; None when nobody does."""
        try:
            with (self.path / "lock").open(encoding="utf-8") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return file.read().strip() or "another process"
        except FileNotFoundError:
            pass
        return None

    def marked(self, holder: str) -> bool:
        """Whether the folder is there and its lock names that process, which another folder of this name would not."""
        try:
            return (self.path / "lock").read_text(encoding="utf-8").strip() == holder
        except (OSError, ValueError):
            return False

    @property
    def device(self) -> str | None:
        """Where its units were computed; None before the first."""
        device = self._document("env").get("device")
        return device if isinstance(device, str) else None

    @property
    def state(self) -> str:
        """running (by a process that is there), finished, failed, interrupted, or stopped without a word."""
        if self.schema != SCHEMA:
            return f"schema {self.schema}"
        said = "finished" if self.finished else self.status.get("state", "stopped")
        if self.holder:
            return "running"
        return "stopped" if said == "running" else said

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    def unit(self, unit: Unit) -> Path:
        return self.path / "units" / f"{_file_name('unit', unit.name)}.nc"

    def checkpoint(self, unit: Unit) -> Path:
        """Where a unit under way keeps the state of its first training; those of later ones have .2, .3 … added."""
        return self.unit(unit).with_suffix(".checkpoint")

    def keep(self, unit: Unit, content: bytes) -> None:
        """Writes the result of a unit, then its checksum: without one, or with another, it counts as missing.

        Its checkpoints have then served.
        """
        write_checked(self.unit(unit), content)
        for path in self.unit(unit).parent.glob(f"{self.checkpoint(unit).name}*"):
            path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Removes checkpoints of units whose result is there, such as a worker that was given up may have left."""
        for path in (self.path / "units").glob("*.checkpoint*"):
            name = path.name.rpartition(".checkpoint")[0]
            if intact(path.with_name(f"{name}.nc")):
                path.unlink(missing_ok=True)

    def has(self, unit: Unit) -> bool:
        """Whether the unit's result is there, as it was written; a damaged one is as good as missing."""
        return intact(self.unit(unit))

    def joined(self, units: list[Unit]) -> xr.Dataset:
        """All units as one dataset, joined by dimension names; what a unit does not have is NaN."""
        parts = [read_dataset(self.unit(unit)).drop_attrs() for unit in units]
        return xr.merge(parts, join="outer", compat="no_conflicts")

    @property
    def status(self) -> dict:
        """What status.json says; nothing when it is missing or damaged."""
        return self._document("status")

    @property
    def progress(self) -> dict:
        """How far the run was a moment ago (``relulab.lab.run.meter``); nothing before its first step."""
        return self._document("progress")

    def _document(self, name: str) -> dict:
        try:
            document = read_json(self.path / f"{name}.json")
        except (OSError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def finished(self) -> bool:
        """Whether the run ended well and what it concluded can be read; if not, the same command concludes anew."""
        try:
            *_, figures = (read_json(self.path / f"{name}.json") for name in ("config", "env", "claims", "figures"))
            drawn = all((self.path / "figures" / file).is_file() for entry in figures for file in _files(entry))
        except (OSError, ValueError, TypeError, KeyError):
            return False
        return self.status.get("state") == "finished" and drawn and intact(self.path / "result.nc")

    def log(self, **event: Any) -> None:
        """Appends a line to log.jsonl; a half line, left by a full disk, is closed first."""
        with (self.path / "log.jsonl").open("ab+") as file:
            if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                file.write(b"\n")
            file.write(json.dumps(event, ensure_ascii=False).encode() + b"\n")
