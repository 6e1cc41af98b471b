"""The data behind the figures: tables that hold what result.nc holds, to the bit, and nothing that was not measured."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from relulab.lab.run.result_file import read_dataset
from relulab.lab.run.unit_file import decode_unit, encode_unit
from relulab.lab.show.report import build, exported_data
from relulab.lab.show.report.exported_data import export_data
from relulab.lab.show.report.forms import Unreadable


@pytest.fixture
def fan_out(small_runs, tmp_path) -> Path:
    """A run whose narrow networks leave gaps in the joined result."""
    return shutil.copytree(next(small_runs.glob("fan-out-correlation/*")), tmp_path / "study" / "smoke-1")


def a_run(path: Path, result: xr.Dataset, *units: xr.Dataset) -> Path:
    (path / "units").mkdir(parents=True)
    result.to_netcdf(path / "result.nc", engine="h5netcdf")
    for number, unit in enumerate(units):
        (path / "units" / f"{number}.safetensors").write_bytes(encode_unit(unit, {}))
    return path


def back(path: Path, like: xr.DataArray) -> xr.DataArray:
    """A table as the array it came from, in its own type; what has no row is NaN."""
    frame = pd.read_csv(path, dtype=str).astype(float)  # read by Python, which rounds right
    assert [*frame.columns] == [*like.dims, like.name]
    return frame.set_index([*like.dims])[like.name].to_xarray().reindex_like(like).astype(like.dtype)


def test_every_variable_comes_back_to_the_bit(small_runs, tmp_path):
    build(small_runs, tmp_path)
    results = list(small_runs.glob("*/*/result.nc"))
    assert len(results) == 3
    for path in results:
        folder = tmp_path / "data" / f"{path.parent.parent.name}-{path.parent.name}"
        result = read_dataset(folder / "result.nc")
        assert result.identical(read_dataset(path))
        assert {p.name for p in folder.iterdir()} == {"result.nc", *(f"{name}.csv" for name in result)}
        for name, values in result.items():
            xr.testing.assert_equal(back(folder / f"{name}.csv", values), values)


def test_places_that_no_unit_has_are_left_out_and_counted(fan_out, tmp_path):
    whole = read_dataset(fan_out / "result.nc").fan_out
    data = {table.name: table for table in export_data(fan_out, 2, tmp_path / "out").tables}
    # Of 2 widths × 20 students the narrow network has 4.
    assert data["fan_out"].left_out == int(whole.isnull().sum()) == 16 * whole.size // 40
    assert data["fan_out"].rows == len(pd.read_csv(tmp_path / "out" / "fan_out.csv")) == whole.size * 24 // 40
    assert data["loss"].left_out == 0


def test_a_measured_nan_keeps_its_row(fan_out, tmp_path):
    unit = next((fan_out / "units").glob("over1-*.safetensors"))
    lost = {"over": 1, "student": 2, "seed": 1}
    data, part = read_dataset(fan_out / "result.nc"), decode_unit(unit.read_bytes()).dataset()
    for each in (data, part):
        each.fan_out.loc[lost] = np.nan
    data.to_netcdf(fan_out / "result.nc", engine="h5netcdf")
    unit.write_bytes(encode_unit(part, {}))
    export_data(fan_out, 2, tmp_path / "out")
    frame = pd.read_csv(tmp_path / "out" / "fan_out.csv")
    nan = frame[frame.fan_out.isnull()]
    assert len(nan) == data.sizes["epoch"] and all((nan[key] == value).all() for key, value in lost.items())


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"half")])
def test_without_all_units_no_row_is_left_out(fan_out, tmp_path, harm):
    harm(next((fan_out / "units").glob("over1-*.safetensors")))
    data = export_data(fan_out, 2, tmp_path / "out")
    assert all(table.left_out == 0 for table in data.tables)
    assert len(pd.read_csv(tmp_path / "out" / "fan_out.csv")) == read_dataset(fan_out / "result.nc").fan_out.size


def test_text_is_never_a_formula(tmp_path):
    label = xr.DataArray(["=1+1", "plain", "@sum"], dims="kind", name="label")
    result = xr.Dataset({"x": ("kind", [0.1, -5e-324, np.pi]), "label": label, "one": 2.5})
    result = result.assign_coords(kind=["+a", "b, c", "-d"], twice=("kind", [2, 4, 6]))
    data = export_data(a_run(tmp_path / "run", result), 1, tmp_path / "out")
    assert {table.name: table.rows for table in data.tables} == {"x": 3, "label": 3, "twice": 3, "one": 1}
    rows = (tmp_path / "out" / "x.csv").read_text().splitlines()
    assert rows == ["kind,x", "'+a,0.1", '"b, c",-5e-324', f"'-d,{np.pi!r}"]
    assert (tmp_path / "out" / "label.csv").read_text().splitlines()[1:] == ["'+a,'=1+1", '"b, c",plain', "'-d,'@sum"]
    assert (tmp_path / "out" / "one.csv").read_text() == "one\n2.5\n"


def test_a_table_too_long_for_a_spreadsheet_is_compressed(fan_out, tmp_path, monkeypatch):
    monkeypatch.setattr(exported_data, "SHEET", 20)
    files = {table.file for table in export_data(fan_out, 2, tmp_path / "out").tables}
    assert files >= {"fan_out.csv.gz", "loss.csv"}
    whole = read_dataset(fan_out / "result.nc").fan_out
    xr.testing.assert_equal(back(tmp_path / "out" / "fan_out.csv.gz", whole), whole)
    again = tmp_path / "again"
    export_data(fan_out, 2, again)
    assert all((again / file).read_bytes() == (tmp_path / "out" / file).read_bytes() for file in files)


def test_tables_are_made_anew_only_when_the_result_is_new(fan_out, tmp_path):
    out = tmp_path / "out"
    first = export_data(fan_out, 2, out)
    (out / "loss.csv").write_text("kept")
    (out / "fan_out.csv").unlink()
    again = export_data(fan_out, 2, out)
    assert (out / "loss.csv").read_text() == "kept" and again.tables[1] == first.tables[1]
    assert (out / "fan_out.csv").stat().st_size == first.tables[1].bytes
    data = read_dataset(fan_out / "result.nc")
    (data + 1).to_netcdf(fan_out / "result.nc", engine="h5netcdf")
    export_data(fan_out, 2, out)
    assert (pd.read_csv(out / "loss.csv").loss > 1).all()


def test_a_variable_cannot_name_a_file_elsewhere(tmp_path):
    run = a_run(tmp_path / "run", xr.Dataset({"..": ("x", [1.0])}))
    with pytest.raises(Unreadable, match="cannot be the name"):
        export_data(run, 1, tmp_path / "out")
