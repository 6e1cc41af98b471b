"""Units are joined as xarray would, but in linear time."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab.lab.run.join import join
from relulab.lab.run.unit_file import UnitData, decode_unit, encode_unit


def stored(data: xr.Dataset) -> UnitData:
    return decode_unit(encode_unit(data, {}))


def merged(parts: list[xr.Dataset]) -> xr.Dataset:
    return xr.merge(parts, join="outer", compat="no_conflicts")


@st.composite
def units(draw) -> list[xr.Dataset]:
    """Units with blocks of one table of known values, some of them NaN, along two coordinates and one plain axis."""
    seed = draw(st.integers(0, 99))
    labels = {"seed": list(range(6)), "over": draw(st.sampled_from([[5.0, 1.0, 2.5, 2.0], ["c", "a", "b", "d"]]))}
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(6, 4, 3))
    table[rng.random(table.shape) < 0.2] = np.nan
    kind = draw(st.sampled_from([np.float64, np.float32]))
    parts = []
    for _ in range(draw(st.integers(1, 5))):
        rows = draw(st.lists(st.sampled_from(range(6)), min_size=1, max_size=6, unique=True))
        columns = draw(st.lists(st.sampled_from(range(4)), min_size=1, max_size=4, unique=True))
        coords = {"seed": rows, "over": [labels["over"][c] for c in columns], "version": 3}
        data = {
            "loss": (("seed", "over", "k"), table[np.ix_(rows, columns)].astype(kind)),
            "nodes": (("over",), np.array(columns, dtype=draw(st.sampled_from([np.int64, np.int16])))),
            "good": (("seed",), np.array(rows) > 2), "word": (("seed",), [f"w{row}" for row in rows]),
        }  # fmt: skip
        if draw(st.booleans()):
            data.pop(draw(st.sampled_from(sorted(data))))
        parts.append(xr.Dataset(data, coords))
    return parts


@given(units())
@settings(deadline=None, max_examples=150)
def test_the_join_is_the_one_of_xarray(parts):
    here, there = join([stored(part) for part in parts]).result, merged(parts)
    xr.testing.assert_identical(here, there)
    for name, variable in here.variables.items():
        if name == "good":  # xarray makes them booleans, objects or numbers, depending on the order
            assert variable.dtype == (bool if there[name].notnull().all() else float)
        else:
            kind = there[name].dtype.kind
            assert variable.dtype.kind == kind or {variable.dtype.kind, kind} == {"U", "O"}


@given(units())
@settings(deadline=None, max_examples=50)
def test_gaps_are_told_apart_from_measured_nan(parts):
    joined = join([stored(part) for part in parts])
    for name, measured in joined.measured.items():
        values, seen = joined.result[name], xr.zeros_like(joined.result[name], dtype=bool)
        for part in parts:
            if name in part:
                seen = seen | xr.ones_like(part[name], dtype=bool).reindex_like(values, fill_value=False)
        assert (seen.transpose(*values.dims).values == measured).all(), name


def test_a_variable_with_other_dimensions_in_another_unit_is_joined_as_well():
    parts = [xr.Dataset({"a": ("seed", [1.0])}, {"seed": [0]}), xr.Dataset({"a": 1.0})]
    xr.testing.assert_identical(join([stored(part) for part in parts]).result, merged(parts))


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (
            xr.Dataset({"a": ("seed", [1.0])}, {"seed": [0]}),
            xr.Dataset({"a": ("seed", [2.0])}, {"seed": [0]}),
            "differ",
        ),
        (xr.Dataset({"a": ("k", [1.0])}), xr.Dataset({"a": ("k", [1.0, 2.0])}), "no coordinate"),
        (xr.Dataset({"a": ("k", [1.0, 2.0])}, {"k": [0, 0]}), xr.Dataset({"c": 1.0}), "twice"),
    ],
)
def test_what_cannot_be_joined_is_refused(a, b, words):
    with pytest.raises(ValueError, match=words):
        join([stored(a), stored(b)])


def test_time_and_memory_grow_with_the_number_of_units_and_not_with_its_square():
    def traced(count: int) -> float:
        import tracemalloc

        parts = [stored(xr.Dataset({"a": ("seed", [1.0])}, {"seed": [i]})) for i in range(count)]
        tracemalloc.start()
        join(parts)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    traced(10)
    assert traced(1600) < 8 * traced(400)  # 4 times the units; squared it would be 16 times
