"""The results of the units of a run, one file each in units/, and the checkpoints of those that are being measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relulab.core.errors import UserError
from relulab.core.files import read_inside
from relulab.lab.run.documents import file_name, write_bytes
from relulab.lab.study import Unit

if TYPE_CHECKING:  # a finished run is read without it
    import xarray as xr

    from relulab.lab.run.unit_file import UnitData

KEPT = 100_000_000  # bytes of stored units that are kept in memory while others are measured
UNIT, CHECKPOINT = ".safetensors", ".checkpoint"  # endings of the files of a unit


@dataclass(frozen=True)
class UnitStore:
    """The units of the run in the folder ``path``."""

    path: Path

    def file(self, unit: Unit) -> Path:
        """Return the file for the result of a unit."""
        return self.path / "units" / f"{file_name('unit', unit.name)}{UNIT}"

    def checkpoint(self, unit: Unit) -> Path:
        """Return the checkpoint file of the first training of a unit; later trainings append .2, .3, …"""
        return self.path / "checkpoints" / f"{file_name('unit', unit.name)}{CHECKPOINT}"

    def keep(self, unit: Unit, content: bytes) -> None:
        """Write the result of a unit, which contains its checksum, and remove its checkpoints."""
        write_bytes(self.file(unit), content)
        checkpoint = self.checkpoint(unit)
        for path in checkpoint.parent.glob(f"{checkpoint.name}*"):
            path.unlink(missing_ok=True)

    def forget_finished(self) -> None:
        """Remove the checkpoints of finished units, which a worker that was given up may have left."""
        for path in (self.path / "checkpoints").glob(f"*{CHECKPOINT}*"):
            name = path.name.rpartition(CHECKPOINT)[0]
            if self._read(f"{name}{UNIT}"):
                path.unlink(missing_ok=True)

    def read(self, unit: Unit) -> UnitData | None:
        """Return the result of a unit; None if it is not stored or damaged."""
        return self._read(self.file(unit).name)

    def read_all(self) -> Iterator[UnitData]:
        """Yield the results of all stored units that are undamaged."""
        for path in sorted((self.path / "units").glob(f"*{UNIT}")):
            if data := self._read(path.name):
                yield data

    def names(self) -> set[str]:
        """Return the names of the units that are stored, without looking whether they are undamaged."""
        return {path.name.removesuffix(UNIT) for path in (self.path / "units").glob(f"*{UNIT}")}

    def has(self, unit: Unit) -> bool:
        """Whether the result of a unit is stored and undamaged."""
        return self.read(unit) is not None

    def _read(self, name: str) -> UnitData | None:
        from relulab.lab.run.unit_file import Damaged, decode_unit

        try:
            return decode_unit(read_inside(self.path, f"units/{name}"))
        except (OSError, Damaged):
            return None

    def read_small(self, units: Sequence[Unit]) -> tuple[dict[str, UnitData], dict[str, dict[str, Any]]]:
        """Return the stored units by name while they are small enough to keep, and the environments of all of them."""
        kept, environments, size = {}, {}, 0
        for unit in units:
            if data := self.read(unit):
                environments[unit.name] = data.environment
                size += sum(values.nbytes for values in data.values.values())
                if size < KEPT:
                    kept[unit.name] = data
        return kept, environments

    def joined(
        self, units: Sequence[Unit], stored: Mapping[str, UnitData] | None = None
    ) -> tuple[xr.Dataset, list[dict[str, Any]]]:
        """Return all units as one dataset, with NaN for missing values, and the environment of each unit.

        Args:
            units: The units.
            stored: Those that were read before, by name.
        """
        from relulab.lab.run.join import join

        parts = [(stored or {}).get(unit.name) or self.read(unit) for unit in units]
        lost = [unit.name for unit, part in zip(units, parts, strict=True) if part is None]
        if lost:
            raise UserError(f"{self.path} has lost the unit {lost[0]}: run the same command again to measure it")
        present = [part for part in parts if part is not None]
        return join(present).result, [part.environment for part in present]
