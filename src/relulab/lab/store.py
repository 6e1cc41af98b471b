"""The run store: runs/<study>/<preset>-<hash>/, written so that a kill at any instant loses only work under way."""

import fcntl
import hashlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import xarray as xr

from relulab.lab.study import Study, Unit


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path``; when the block ends well it becomes ``path`` in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part{path.suffix}")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_json(path: Path, document: Any) -> None:
    with atomic(path) as part:
        part.write_text(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_dataset(path: Path, data: xr.Dataset) -> None:
    with atomic(path) as part:
        data.to_netcdf(part, engine="h5netcdf")


def read_dataset(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="h5netcdf") as data:
        return data.load()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def runs_in(root: Path) -> list["Run"]:
    """Every run below ``root``, by study and name."""
    return [Run(path.parent) for path in sorted(root.glob("*/*/config.json"))]


@dataclass(frozen=True)
class Run:
    """The folder of one study on one configuration."""

    path: Path

    @classmethod
    def of(cls, study: Study, preset: str, runs: Path) -> "Run":
        return cls(runs / study.name / f"{preset}-{study.hash}")

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

    @property
    def state(self) -> str:
        """running (by a process that is there), finished, failed, interrupted, or stopped without a word."""
        said = "finished" if self.finished else self.status.get("state", "stopped")
        if self.holder:
            return "running"
        return "stopped" if said == "running" else said

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    def unit(self, unit: Unit) -> Path:
        return self.path / "units" / f"{unit.name}.nc"

    def keep(self, unit: Unit, data: xr.Dataset) -> None:
        """Writes the result of a unit, then its checksum: without one, or with another, it counts as missing."""
        path = self.unit(unit)
        write_dataset(path, data)
        with atomic(path.with_suffix(".sha256")) as part:
            part.write_text(_digest(path))

    def has(self, unit: Unit) -> bool:
        """Whether the unit's result is there, as it was written; a damaged one is as good as missing."""
        path = self.unit(unit)
        try:
            return path.with_suffix(".sha256").read_text() == _digest(path)
        except (OSError, ValueError):
            return False

    def joined(self, units: list[Unit]) -> xr.Dataset:
        """All units as one dataset, joined by dimension names; what a unit does not have is NaN."""
        parts = [read_dataset(self.unit(unit)).drop_attrs() for unit in units]
        return xr.merge(parts, join="outer", compat="no_conflicts")

    @property
    def status(self) -> dict:
        """What status.json says; nothing when it is missing or damaged."""
        try:
            return read_json(self.path / "status.json")
        except (OSError, ValueError):
            return {}

    @property
    def finished(self) -> bool:
        """Whether the run ended well and what it concluded can be read; if not, the same command concludes anew."""
        try:
            for name in ("config", "env", "claims", "figures"):
                read_json(self.path / f"{name}.json")
        except (OSError, ValueError):
            return False
        return self.status.get("state") == "finished"

    def log(self, **event: Any) -> None:
        with (self.path / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(event, ensure_ascii=False) + "\n")
