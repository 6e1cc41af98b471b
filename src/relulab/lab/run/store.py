"""The store of runs, runs/<study>/<preset>-<hash>/. A kill at any moment loses only the units in progress."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relulab.core.errors import UserError
from relulab.core.files import atomic as atomic
from relulab.lab.study import Study, Unit
from relulab.lab.well_formed import is_name

if TYPE_CHECKING:  # a finished run is read without it
    import xarray as xr

SCHEMA = 1
"""Version of the layout of a run's folder, which is recorded in its config.json."""

PICTURES = (".png", ".svg", ".pdf")
"""File formats for a figure at a path that the user chooses."""

MOVING = {"gif": "gif", "still": "still.png"}
"""Endings of the files of an animation: the animation, and its last frame for readers who prefer no motion."""


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document atomically."""
    with atomic(path) as part:
        part.write_text(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON document; raise a ValueError if it is malformed."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None


def encode(data: xr.Dataset) -> bytes:
    """Return the bytes of a netCDF file. Made in memory, so that a full disk only affects one plain write."""
    return bytes(data.to_netcdf(engine="h5netcdf"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with atomic(path) as part:
        part.write_bytes(content)


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write an .npz file, made in memory as in ``encode``."""
    import numpy as np

    content = BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_bytes(path, content.getvalue())


def read_dataset(path: Path) -> xr.Dataset:
    """Read a netCDF file."""
    import xarray as xr

    with xr.open_dataset(path, engine="h5netcdf") as data:
        return data.load()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def check_place(path: Path, endings: Sequence[str]) -> None:
    """Raise a UserError if a file cannot be written at ``path`` or its ending is not one of ``endings``."""
    if path.suffix not in endings:
        raise UserError(f"cannot write {path}: expected a file name that ends in {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise UserError(f"cannot write {path}: the folder {path.parent} does not exist, create it first")


def write_checked(path: Path, content: bytes) -> None:
    """Write a file, then its checksum next to it."""
    write_bytes(path, content)
    write_bytes(path.with_name(f"{path.name}.sha256"), _digest(content).encode())


def intact(path: Path) -> bool:
    """Whether a file exists and matches the checksum that ``write_checked`` wrote."""
    try:
        return path.with_name(f"{path.name}.sha256").read_text() == _digest(path.read_bytes())
    except (OSError, ValueError):
        return False


def file_name(kind: str, name: Any) -> str:
    """Return ``name`` if it can be used as a file name; raise a UserError if not."""
    if not is_name(name):
        raise UserError(f"{kind} name {name!r} cannot be a file name: use at most 100 letters, digits, and . _ - +")
    return name


def _files(entry: Any) -> list[str]:
    """Return the files that must exist for an entry of figures.json: a figure, by name or dict, or an animation."""
    if isinstance(entry, dict) and "animation" in entry:
        return [f"{entry['animation']}.{ending}" for ending in MOVING.values()]
    return [f"{entry['figure'] if isinstance(entry, dict) else entry}.svg"]


def runs_in(root: Path) -> list[Run]:
    """Return all runs in the folder ``root``, sorted by study and name."""
    return [Run(path.parent) for path in sorted(root.glob("*/*/config.json"))]


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

    @contextmanager
    def held(self, on_wait: Callable[[str], None]) -> Iterator[None]:
        """Lock the run for this process. If another process has it, report that and wait.

        The operating system locks the open file, so the lock ends with the process, however it ends.

        Args:
            on_wait: Called with a description of the other process before waiting.
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
        """Create the folders of a locked run and remove what a killed process left half-written."""
        for folder in (self.path, self.path / "units", self.path / "figures"):
            folder.mkdir(exist_ok=True)
            for part in folder.glob(".*.part*"):
                part.unlink()
        self.forget()

    def remove(self) -> bool:
        """Remove the run and return True, or return False if a process is working on it."""
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
        """The recorded layout of the folder; the current one if the folder is new or damaged."""
        try:
            return read_json(self.path / "config.json").get("schema", SCHEMA)
        except (OSError, ValueError, AttributeError):
            return SCHEMA

    @property
    def holder(self) -> str | None:
        """The process that is working on the run, in words; None if there is none."""
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
        """Whether the folder exists and its lock file names that process, so that it is not another folder."""
        try:
            return (self.path / "lock").read_text(encoding="utf-8").strip() == holder
        except (OSError, ValueError):
            return False

    @property
    def device(self) -> str | None:
        """The device that its units were computed on; None before the first unit."""
        device = self._document("env").get("device")
        return device if isinstance(device, str) else None

    @property
    def state(self) -> str:
        """One of: running, finished, failed, interrupted, or stopped (its process ended without notice)."""
        if self.schema != SCHEMA:
            return f"schema {self.schema}"
        recorded = "finished" if self.finished else self.status.get("state", "stopped")
        if self.holder:
            return "running"
        return "stopped" if recorded == "running" else recorded

    @property
    def size(self) -> int:
        """Size on disk, in bytes."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    def unit(self, unit: Unit) -> Path:
        """Return the file for the result of a unit."""
        return self.path / "units" / f"{file_name('unit', unit.name)}.nc"

    def checkpoint(self, unit: Unit) -> Path:
        """Return the checkpoint file of the first training of a unit; later trainings append .2, .3, …"""
        return self.unit(unit).with_suffix(".checkpoint")

    def keep(self, unit: Unit, content: bytes) -> None:
        """Write the result of a unit and then its checksum, and remove its checkpoints.

        A result without a matching checksum counts as missing.
        """
        write_checked(self.unit(unit), content)
        name = self.checkpoint(unit).name
        for pattern in (f"{name}*", f".{name}*.part*"):  # also what a killed worker left half-written
            for path in self.unit(unit).parent.glob(pattern):
                path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove the checkpoints of finished units, which a worker that was given up may have left."""
        for path in (self.path / "units").glob("*.checkpoint*"):
            name = path.name.rpartition(".checkpoint")[0]
            if intact(path.with_name(f"{name}.nc")):
                path.unlink(missing_ok=True)

    def has(self, unit: Unit) -> bool:
        """Whether the result of a unit is stored and undamaged."""
        return intact(self.unit(unit))

    def joined(self, units: list[Unit]) -> xr.Dataset:
        """Return all units as one dataset, joined along their dimensions; missing values are NaN."""
        import xarray as xr

        # A unit's encoding would cut texts of other units to its own longest one.
        parts = [read_dataset(self.unit(unit)).drop_attrs().drop_encoding() for unit in units]
        return xr.merge(parts, join="outer", compat="no_conflicts")

    @property
    def about(self) -> dict:
        """The contents of config.json; empty if it is missing or damaged."""
        return self._document("config")

    @property
    def names(self) -> set[str]:
        """The name and ids of its study, in lower case."""
        ids = self.about.get("ids")
        return {str(name).lower() for name in (self.path.parent.name, *(ids if isinstance(ids, list) else ()))}

    @property
    def status(self) -> dict:
        """The contents of status.json; empty if it is missing or damaged."""
        return self._document("status")

    @property
    def progress(self) -> dict:
        """The last recorded progress (``relulab.lab.run.meter``); empty before the first step."""
        return self._document("progress")

    def _document(self, name: str) -> dict:
        try:
            document = read_json(self.path / f"{name}.json")
        except (OSError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def finished(self) -> bool:
        """Whether the run is complete and its results can be read; if not, running it again repairs it."""
        try:
            *_, figures = (read_json(self.path / f"{name}.json") for name in ("config", "env", "claims", "figures"))
            drawn = all((self.path / "figures" / file).is_file() for entry in figures for file in _files(entry))
        except (OSError, ValueError, TypeError, KeyError):
            return False
        return self.status.get("state") == "finished" and drawn and intact(self.path / "result.nc")

    @property
    def summary(self) -> dict:
        """The study, preset, folder, seconds, seed-steps and claims of a finished run."""
        about, status = read_json(self.path / "config.json"), self.status
        return {
            "study": about["study"],
            "preset": about["preset"],
            "run": str(self.path),
            "seconds": status["seconds"],
            "seed_steps": status["seed_steps"],
            "claims": read_json(self.path / "claims.json"),
            "symbols": about.get("symbols", {}),
        }

    def log(self, **event: Any) -> None:
        """Append a line to log.jsonl. An incomplete last line, left by a full disk, is ended first."""
        with (self.path / "log.jsonl").open("ab+") as file:
            if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                file.write(b"\n")
            file.write(json.dumps(event, ensure_ascii=False).encode() + b"\n")
