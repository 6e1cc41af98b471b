"""The result of a run in the report: the netCDF file, and one CSV table in long format for each variable."""

import filecmp
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from relulab.lab.run.store import atomic, read_dataset
from relulab.lab.show.report.forms import Unreadable, name

SHEET = 1_048_576  # rows that fit into a spreadsheet, header included; longer tables are compressed
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Table:
    name: str
    file: str
    sizes: dict[str, int]
    rows: int
    left_out: int
    bytes: int


@dataclass(frozen=True)
class Data:
    bytes: int
    tables: list[Table]


def export_data(run: Path, units: int, target: Path) -> Data:
    """Write result.nc and its tables.

    Args:
        run: The folder of the run.
        units: Number of units that the result was joined from.
        target: The folder in the report.
    """
    target.mkdir(parents=True, exist_ok=True)
    source, copy = run / "result.nc", target / "result.nc"
    result = _read(source)
    names = [name(n) for n in result.variables if n not in result.dims]
    parts = _units(run, units) if any(result[n].isnull().any() for n in names) else []
    # The copy is made last. If it exists and is the same, so are the tables.
    same = copy.exists() and filecmp.cmp(source, copy, shallow=False)
    tables = [_export(result[n], [p[n] for p in parts if n in p], target, same) for n in names]
    if not same:
        with atomic(copy) as part:
            shutil.copyfile(source, part)
    return Data(copy.stat().st_size, tables)


def _read(path: Path) -> xr.Dataset:
    try:
        return read_dataset(path)
    except Exception as error:  # a damaged file can raise almost anything
        raise Unreadable(f"{path.name} cannot be read ({type(error).__name__})") from None


def _units(run: Path, count: int) -> list[xr.Dataset]:
    """The units of the result, which tell its gaps from measured NaN; none unless all of them are there."""
    try:
        datasets = [_read(path) for path in sorted((run / "units").glob("*.nc"))]
    except Unreadable:
        return []
    return datasets if len(datasets) == count else []


def _export(values: xr.DataArray, parts: Sequence[xr.DataArray], target: Path, same: bool) -> Table:
    kept = (_measured(values, parts) | values.notnull()).values.ravel() if parts else np.ones(values.size, dtype=bool)
    rows = int(kept.sum())
    path = target / f"{values.name}.{'csv' if rows < SHEET else 'csv.gz'}"
    if not (same and path.exists()):
        # A fixed time in the header: the same result gives the same file.
        packed = {"method": "gzip", "compresslevel": 3, "mtime": 1} if path.suffix == ".gz" else None
        with atomic(path) as part:
            _long(values)[kept].to_csv(part, index=False, lineterminator="\n", compression=packed)
    sizes = {str(dim): n for dim, n in values.sizes.items()}
    return Table(str(values.name), path.name, sizes, rows, values.size - rows, path.stat().st_size)


def _measured(values: xr.DataArray, parts: Sequence[xr.DataArray]) -> xr.DataArray:
    """Where some unit has a value, even NaN; elsewhere the join is filled up with NaN."""
    measured = xr.zeros_like(values, dtype=bool)
    for part in parts:
        measured = measured | xr.ones_like(part, dtype=bool).reindex_like(values, fill_value=False)
    return measured.transpose(*values.dims)


def _long(values: xr.DataArray) -> pd.DataFrame:
    """One row per value: its coordinates, then the value."""
    frame = values.to_series().reset_index() if values.dims else pd.DataFrame({values.name: [values.item()]})
    texts = {str(column): frame[column].map(_inert) for column in frame.select_dtypes(exclude=["number", "bool"])}
    return frame.assign(**texts).rename(columns=_inert)


def _inert(x: Any) -> Any:
    """Prefix text that a spreadsheet would run as a formula with an apostrophe."""
    return f"'{x}" if isinstance(x, str) and x.startswith(FORMULA) else x
