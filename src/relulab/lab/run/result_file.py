"""The result of a run as a netCDF file, which is checked before its values are read.

An HDF5 file can refer to other files and can claim terabytes in a few bytes. Such files are refused.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import xarray as xr

from relulab.core.files import LARGEST, read_inside
from relulab.io.guard import BOMB, SMALL

OBJECTS = 10_000  # largest number of variables and groups


class Refused(ValueError):
    """A result file that is not safe to read, or that relulab has not written."""


def encode(data: xr.Dataset) -> bytes:
    """Return the bytes of a netCDF file. Made in memory, so that a full disk only affects one plain write."""
    return bytes(data.to_netcdf(engine="h5netcdf"))


def read_dataset(path: Path) -> xr.Dataset:
    """Read a netCDF file.

    Raises:
        OSError: If it is not a regular file.
        Refused: If it refers to other files, or is larger in memory than its size in the file explains.
    """
    return decode(read_inside(path.parent, path.name))


def decode(content: bytes) -> xr.Dataset:
    """Return the dataset of a netCDF file.

    Args:
        content: The bytes of the file.
    """
    with h5py.File(BytesIO(content), "r") as file:
        _check(file, min(LARGEST, max(SMALL, BOMB * len(content))))
    with xr.open_dataset(BytesIO(content), engine="h5netcdf") as data:
        return data.load()


def _check(file: h5py.File, limit: int) -> None:
    groups: list[Any] = [file]
    count, size = 0, 0
    while groups:
        group = groups.pop()
        for name in group:
            count += 1
            if count > OBJECTS:
                raise Refused(f"it has more than {OBJECTS:,} variables")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise Refused("it contains a link to another place")
            entry = group[name]
            if isinstance(entry, h5py.Group):
                raise Refused("it contains groups")
            if isinstance(entry, h5py.Dataset):
                if entry.external or entry.is_virtual:
                    raise Refused("its values are stored in other files")
                size += (entry.size or 0) * max(8, entry.dtype.itemsize)
                if size > limit:
                    raise Refused(f"its values take more than {limit:,} bytes")
