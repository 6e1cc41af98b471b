"""The file of a unit: its variables in the safetensors format, with the environment it was measured in and a checksum.

A run may have ten thousand units. Such a file is read in a tenth of a millisecond, and nothing in it can run code.
"""

import hashlib
import json
import re
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from safetensors import SafetensorError

from relulab.core.errors import UserError
from relulab.io.guard import one_line

NOTES = "relulab unit"
KINDS = "biuf"  # NumPy's letters for the values that are stored as they are; times are stored as integers
TIMES = re.compile(r"(datetime64|timedelta64)\[(Y|M|W|D|h|m|s|ms|us|ns)\]")
LONGEST = 20_000  # characters of an environment
LONGEST_TEXTS = 20_000_000  # characters of all texts of a variable
DAMAGE = (SafetensorError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError)


class Damaged(ValueError):
    """A file that is not what ``encode_unit`` has written."""


class UnitData(NamedTuple):
    """The contents of the file of a unit.

    Args:
        values: The values of each variable.
        dims: The dimensions of each variable.
        coords: The variables that are coordinates.
        environment: The environment in which the unit was measured.
    """

    values: dict[str, np.ndarray]
    dims: dict[str, tuple[str, ...]]
    coords: frozenset[str]
    environment: dict[str, Any]

    def dataset(self) -> xr.Dataset:
        """Return the variables as a dataset."""
        variables = {name: (self.dims[name], values) for name, values in self.values.items()}
        return xr.Dataset(
            {name: value for name, value in variables.items() if name not in self.coords},
            {name: value for name, value in variables.items() if name in self.coords},
        )


def encode_unit(data: xr.Dataset, environment: dict[str, Any]) -> bytes:
    """Return the bytes of the file of a unit.

    Args:
        data: What was measured. Attributes are left out.
        environment: The environment in which it was measured.
    """
    from safetensors.numpy import save

    arrays, texts, types = {}, {}, {}
    names = {*data.variables, *data.dims}
    if not data.variables or not all(map(_is_variable, names)):
        raise UserError(
            f"the dataset has the names {', '.join(map(repr, names)) or '(none)'}: return at least one variable, with "
            "names that are text without / of fewer than 200 characters"
        )
    for name, variable in data.variables.items():
        values = variable.values
        if values.dtype.kind in "mM":
            types[name], values = str(values.dtype), values.astype(np.int64)
        if values.dtype.kind in KINDS and values.dtype.itemsize <= 8:
            arrays[str(name)] = values.astype(values.dtype.newbyteorder("="), order="C", copy=True)
        elif values.dtype.kind in "UO" and all(isinstance(text, str) for text in values.flat):
            texts[name] = {"shape": values.shape, "values": values.ravel().tolist()}
        else:
            raise UserError(
                f"the variable {name} has type {values.dtype}: return numbers, booleans, times or text in the dataset"
            )
    layout = {
        "dims": {name: list(variable.dims) for name, variable in data.variables.items()},
        "coords": sorted(map(str, data.coords)), "texts": texts, "types": types,
    }  # fmt: skip
    notes = {"layout": layout, "environment": environment}
    # One entry, because safetensors writes several in random order.
    content = save(arrays, {NOTES: json.dumps({**notes, "sha256": _checksum(arrays, notes)})})
    try:
        decode_unit(content)
    except Damaged as reason:  # otherwise it would be measured again each time the run is continued
        raise UserError(f"the dataset cannot be stored, because {reason}: return other values") from None
    return content


def decode_unit(content: bytes) -> UnitData:
    """Return the contents of the file of a unit; raise ``Damaged`` if a single bit of them has changed.

    Args:
        content: The bytes of the file.
    """
    from safetensors import deserialize

    try:
        length = int.from_bytes(content[:8], "little")
        notes = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][NOTES])
        stored = {name: _array(entry) for name, entry in deserialize(content)}
        if notes.pop("sha256") != _checksum(stored, notes):
            raise Damaged("the checksum differs")
        return _unit_data(stored, notes["layout"], notes["environment"])
    except DAMAGE as error:
        raise Damaged(one_line(error)) from None


def _unit_data(stored: dict[str, np.ndarray], layout: dict[str, Any], environment: Any) -> UnitData:
    """Put the contents of a file together. Checksums can be forged, so its form is compared with what is written."""
    for name, text in layout["texts"].items():
        stored[name] = _texts(text["values"]).reshape(text["shape"])
    for name, kind in layout["types"].items():
        if not TIMES.fullmatch(kind):
            raise Damaged(f"{name} has type {kind}")
        stored[name] = stored[name].astype(kind)
    values = {name: stored[name] for name in layout["dims"]}
    dims = {name: tuple(names) for name, names in layout["dims"].items()}
    sizes: dict[str, int] = {}
    for name, array in values.items():
        if not _is_variable(name) or len(set(dims[name])) != array.ndim or not all(map(_is_variable, dims[name])):
            raise Damaged(f"{name} has other dimensions")
        if any(sizes.setdefault(dim, n) != n for dim, n in zip(dims[name], array.shape, strict=True)):
            raise Damaged(f"{name} has another size")
    if not values or not set(layout["coords"]) <= set(values):
        raise Damaged("it has no variables, or coordinates that are none")
    if not isinstance(environment, dict) or not isinstance(environment.get("packages", {}), dict):
        raise Damaged("its environment is none")
    if len(json.dumps(environment)) > LONGEST:
        raise Damaged("its environment is too long")
    return UnitData(values, dims, frozenset(layout["coords"]), environment)


def _texts(values: list[str]) -> np.ndarray:
    """Return texts as an array, in which each takes as much memory as the longest."""
    if len(values) * max(map(len, values), default=0) > LONGEST_TEXTS:
        raise Damaged("its texts are too long")
    return np.array(values, dtype=np.str_)


def _is_variable(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and "/" not in name and 0 < len(name) < 200


NUMPY = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip


def _array(entry: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(entry["data"], dtype=NUMPY[entry["dtype"]]).reshape(entry["shape"])


def _checksum(arrays: dict[str, np.ndarray], notes: dict[str, Any]) -> str:
    """A checksum of names, types, shapes, values and notes."""
    digest = hashlib.sha256(json.dumps(notes, sort_keys=True).encode())
    for name, values in sorted(arrays.items()):
        digest.update(repr((name, values.dtype.str, values.shape)).encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
