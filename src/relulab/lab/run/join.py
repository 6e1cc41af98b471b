"""Join the units of a run: every block of values is written into its place, in time linear in the number of units.

The result is that of ``xarray.merge(join="outer", compat="no_conflicts")``, which first extends every unit to the size
of the whole, so that its time and memory grow with the square of the number of units.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from relulab.lab.run.unit_file import UnitData


class Joined(NamedTuple):
    """All units as one dataset, and for each variable where some unit has a value, even NaN; elsewhere is a gap."""

    result: xr.Dataset
    measured: dict[str, np.ndarray]


class _Uneven(Exception):
    """A variable has different dimensions in different units."""


class _Layout(NamedTuple):
    """The dimensions of each variable, and of each dimension its size, its coordinate and the place of its labels."""

    dims: dict[str, tuple[str, ...]]
    sizes: dict[str, int]
    indexes: dict[str, pd.Index]
    equal: dict[str, bool]


def join(units: Sequence[UnitData]) -> Joined:
    """Join units along their dimensions. Where no unit has a value, it is missing: NaN, or NaT for times.

    Args:
        units: The units. Where several have a value at the same place, they must agree.

    Raises:
        ValueError: If units contradict each other, or have dimensions that cannot be joined.
    """
    try:
        layout = _layout(units)
    except _Uneven:
        result = xr.merge([unit.dataset() for unit in units], join="outer", compat="no_conflicts")
        return Joined(result, {str(name): np.asarray(result[name].notnull()) for name in result.variables})
    names = [name for name in layout.dims if name not in layout.indexes]
    blocks = {name: _Block(name, units, layout) for name in names}
    for unit in units:
        places = {dim: _place(index, unit, dim, layout) for dim, index in layout.indexes.items() if dim in unit.values}
        for name, values in unit.values.items():
            if name in blocks:
                blocks[name].write(name, values, places)
    for block in blocks.values():
        block.close()
    coords = {name for unit in units for name in unit.coords}
    variables: dict[str, Any] = {
        name: (name, layout.indexes[name]) if name in layout.indexes else (layout.dims[name], blocks[name].values)
        for name in layout.dims
    }
    result = xr.Dataset(
        {name: value for name, value in variables.items() if name not in coords},
        {name: value for name, value in variables.items() if name in coords},
    )
    return Joined(result, {name: block.measured for name, block in blocks.items()})


def _layout(units: Sequence[UnitData]) -> _Layout:
    dims: dict[str, tuple[str, ...]] = {}
    found: dict[str, list[np.ndarray]] = {}
    sizes: dict[str, int] = {}
    for unit in units:
        for name, values in unit.values.items():
            of = unit.dims[name]
            if dims.setdefault(name, of) != of:
                raise _Uneven
            if of == (name,):
                found.setdefault(name, []).append(values)
    indexes = {name: _union(name, labels) for name, labels in found.items()}
    equal = {name: all(_same(labels, indexes[name]) for labels in found[name]) for name in found}
    for unit in units:
        for name, values in unit.values.items():
            for dim, size in zip(unit.dims[name], values.shape, strict=True):
                if dim in indexes and dim in unit.values:
                    continue
                if sizes.setdefault(dim, size) != size or (dim in indexes and len(indexes[dim]) != size):
                    raise ValueError(
                        f"units have {size} and {sizes[dim]} values along {dim}, which has no coordinate: add one, "
                        f"such as data.assign_coords({dim}=…)"
                    )
    return _Layout(dims, sizes | {name: len(index) for name, index in indexes.items()}, indexes, equal)


def _union(name: str, found: list[np.ndarray]) -> pd.Index:
    """The labels of all units, in the order of the first unit if all have the same, and sorted if not."""
    first = pd.Index(found[0], name=name)
    if not first.is_unique:
        raise ValueError(f"the coordinate {name} of a unit contains a label twice: use different labels")
    if all(_same(labels, first) for labels in found):
        return first
    together = first.append([pd.Index(labels) for labels in found[1:]]).unique().rename(name)
    try:
        return together.sort_values()
    except TypeError:  # such as text and numbers
        return together


def _same(labels: np.ndarray, index: pd.Index) -> bool:
    return len(labels) == len(index) and bool((labels == index.values).all())


def _place(index: pd.Index, unit: UnitData, dim: str, layout: _Layout) -> np.ndarray | slice:
    """Where the labels of a unit are in the whole; as a slice if they are neighbors."""
    labels = unit.values[dim]
    if layout.equal[dim]:
        return slice(None)
    place = index.get_indexer(pd.Index(labels)) if len(labels) > 1 else np.array([index.get_loc(labels[0])])
    if len(place) and (np.diff(place) == 1).all():
        return slice(int(place[0]), int(place[-1]) + 1)
    return place


class _Block:
    """The values of one variable, which units write into their places."""

    def __init__(self, name: str, units: Sequence[UnitData], layout: _Layout):
        self.dims = layout.dims[name]
        shape = tuple(layout.sizes[dim] for dim in self.dims)
        owners = [unit for unit in units if name in unit.values]
        kind = np.result_type(*{unit.values[name].dtype for unit in owners})
        whole = all(unit.values[name].shape == shape for unit in owners)
        self.measured = np.zeros(shape, dtype=bool)
        self.is_bool = kind.kind == "b"
        kind, missing = (kind, np.zeros((), kind)[()]) if whole else _with_gaps(kind)
        self.values = np.full(shape, missing, kind)

    def write(self, name: str, values: np.ndarray, places: dict[str, Any]) -> None:
        place = _selection([places.get(dim, slice(None)) for dim in self.dims], self.values.shape)
        before, known = np.asarray(self.values[place]), self.measured[place]
        if np.any(known):
            both = known & _given(before) & _given(values)
            if (both & (before != values)).any():
                raise ValueError(f"units have different values of {name} at the same place: measure it in one unit")
            values = np.where(known & ~_given(values), before, values)
        self.values[place] = values
        self.measured[place] = True

    def close(self) -> None:
        """Turn booleans without gaps into booleans again."""
        if self.is_bool and self.measured.all():
            self.values = self.values.astype(bool)


def _given(values: np.ndarray) -> Any:
    return np.logical_not(pd.isnull(values))


def _selection(places: list[Any], sizes: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the index of the block in which each dimension has its own selection."""
    if sum(isinstance(place, np.ndarray) for place in places) < 2:
        return tuple(places)
    return np.ix_(*(np.arange(size)[place] for size, place in zip(sizes, places, strict=True)))


def _with_gaps(kind: np.dtype) -> tuple[np.dtype, Any]:
    """Return the type of values of which some are missing, and the missing value, as xarray chooses them.

    For booleans, xarray's choice depends on the units; here they become 0, 1 and NaN.
    """
    if kind.kind in "mM":
        return kind, np.array("NaT", kind)
    if kind.kind in "biu":
        return np.dtype(np.float32 if kind.itemsize <= 2 and kind.kind != "b" else np.float64), np.nan
    return (kind, np.nan) if kind.kind in "fc" else (np.dtype(object), np.nan)
