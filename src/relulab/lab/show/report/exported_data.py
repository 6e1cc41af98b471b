"""The result of a run in the report: the netCDF file, and one CSV table in long format for each variable."""

from contextlib import ExitStack
from dataclasses import dataclass
from gzip import GzipFile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from relulab.core.files import atomic, read_inside
from relulab.lab.run.documents import write_bytes
from relulab.lab.run.join import join
from relulab.lab.run.result_file import decode
from relulab.lab.run.store import Run
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
    copy, content = target / "result.nc", _bytes(run)
    result = _decoded(content)
    names = [name(n) for n in result.variables if n not in result.dims]
    measured = _measured(run, units) if any(result[n].isnull().any() for n in names) else {}
    # The copy is made last. If it exists and is the same, so are the tables.
    same = _is_same(target, content)
    tables = [_export(result[n], measured.get(n), target, same) for n in names]
    if not same:
        write_bytes(copy, content)
    return Data(len(content), tables)


def _bytes(run: Path) -> bytes:
    try:
        return read_inside(run, "result.nc")
    except OSError as error:
        raise Unreadable(f"result.nc: {error.strerror}") from None


def _is_same(target: Path, content: bytes) -> bool:
    try:
        return read_inside(target, "result.nc") == content
    except OSError:
        return False


def _decoded(content: bytes) -> xr.Dataset:
    try:
        return decode(content)
    except Exception as error:  # a damaged file can raise almost anything
        raise Unreadable(f"result.nc cannot be read ({type(error).__name__})") from None


def _measured(run: Path, count: int) -> dict[str, np.ndarray]:
    """Where some unit has a value, even NaN; elsewhere the join is filled up with NaN. Empty if a unit is missing."""
    units = list(Run(run).units.read_all())
    return join(units).measured if len(units) == count else {}


def _export(values: xr.DataArray, measured: np.ndarray | None, target: Path, same: bool) -> Table:
    kept = np.ones(values.size, dtype=bool)
    if measured is not None and measured.shape == values.shape:
        kept = (measured | values.notnull().values).ravel()
    rows = int(kept.sum())
    path = target / f"{values.name}.{'csv' if rows < SHEET else 'csv.gz'}"
    if not (same and path.exists()):
        with atomic(path) as part, part.open("wb") as plain, ExitStack() as stack:
            # Without a name and with a fixed time in the header, the same result gives the same file.
            packed = path.suffix == ".gz"
            file: Any = stack.enter_context(GzipFile("", "wb", 3, plain, mtime=1)) if packed else plain
            _long(values)[kept].to_csv(file, index=False, lineterminator="\n")
    sizes = {str(dim): n for dim, n in values.sizes.items()}
    return Table(str(values.name), path.name, sizes, rows, values.size - rows, path.stat().st_size)


def _long(values: xr.DataArray) -> pd.DataFrame:
    """One row per value: its coordinates, then the value."""
    frame = values.to_series().reset_index() if values.dims else pd.DataFrame({values.name: [values.item()]})
    texts = {str(column): frame[column].map(_inert) for column in frame.select_dtypes(exclude=["number", "bool"])}
    return frame.assign(**texts).rename(columns=_inert)


def _inert(x: Any) -> Any:
    """Prefix text that a spreadsheet would run as a formula with an apostrophe."""
    return f"'{x}" if isinstance(x, str) and x.startswith(FORMULA) else x
