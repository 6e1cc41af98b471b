"""Studies without data: reported before anything runs, and skipped by reproduce."""

import json
import os
from typing import ClassVar

import pytest
import xarray as xr

from relulab import Local, UserError, run_study
from relulab.lab.catalog import studies
from relulab.lab.index import Entry
from relulab.lab.show.figure import panels
from relulab.lab.study import Study, Unit


class Wanting(Study):
    """Two numbers, from a data set that may be missing."""

    name: ClassVar = "wanting"
    ids: ClassVar = ("XX.F1",)
    title: ClassVar = "Wanting"
    source: ClassVar = "XX"
    needs: ClassVar = "a data set"
    presets: ClassVar = {"smoke": {}, "quick": {}}

    def ready(self):
        if not os.environ.get("THERE"):
            raise UserError("the data set is missing: get it [somewhere]")

    def units(self):
        return [Unit(f"u{i}", {"i": i}, 1) for i in range(2)]

    def measure(self, unit, tick):
        return xr.Dataset({"x": ("i", [1.0])}, coords={"i": [unit.values["i"]]})

    def figures(self, result):
        return {"one": panels(1, 1)[0]}

    def claims(self, result):
        return []


class Content(Wanting):
    """A study that needs no data."""

    name: ClassVar = "content"
    ids: ClassVar = ("XX.F2",)
    title: ClassVar = "Content"

    def ready(self):
        pass


def listed(study: type[Study]) -> Entry:
    """The entry that the index would have."""
    details = {"presets": {**study.presets, "paper": {}}, "fields": {"root": 0}, "annotations": {"root": "int"}}
    return Entry("study", "bias", study.__module__, study.name, study.ids, study.title, study.source, "", details)


@pytest.fixture
def known(monkeypatch):
    """The catalog has these two studies."""
    for name in list(studies()):
        monkeypatch.delitem(studies(), name)
    for study in (Wanting, Content):
        monkeypatch.setitem(studies(), study.name, study)
    by_id = {id: study for study in (Wanting, Content) for id in (study.name, *study.ids)}
    monkeypatch.setattr("relulab.lab.run.requests.entry", lambda id, *kinds: listed(by_id[id]))
    monkeypatch.setattr("relulab.lab.catalog.find_study", by_id.__getitem__)
    monkeypatch.setattr(
        "relulab.lab.cli.check.demonstrate", lambda theorem, runs: {"theorem": theorem.id, "demonstrations": []}
    )


def test_missing_data_are_reported_before_anything_is_written(known, here, tmp_path):
    code, out, err = here("run", "XX.F2", "XX.F1", "--preset", "smoke")
    assert code == 2 and err == "relulab: the data set is missing: get it [somewhere]\n" and not out
    assert not list(tmp_path.iterdir())
    with pytest.raises(UserError, match="the data set is missing"):
        run_study("XX.F1", runs=tmp_path / "runs", engine=Local(1))
    assert not list(tmp_path.iterdir())


def test_reproduce_skips_studies_without_data(known, here, tmp_path):
    code, out, err = here("reproduce", "--preset", "smoke", "--workers", "1", "--json")
    document = json.loads(out)
    assert code == 0 and err == "skipping wanting: the data set is missing: get it [somewhere]\n"
    assert document["left_out"] == [
        {"study": "wanting", "ids": ["XX.F1"], "why": "the data set is missing: get it [somewhere]"}
    ]
    assert [run["study"] for run in document["runs"]] == ["content"]
    page = (tmp_path / document["report"]).read_text()
    assert "Content" in page and "Wanting" not in page


def test_finished_units_need_no_data(known, here, monkeypatch, tmp_path):
    monkeypatch.setenv("THERE", "yes")
    assert here("run", "wanting", "--workers", "1")[0] == 0
    monkeypatch.delenv("THERE")
    assert here("run", "wanting", "--workers", "1")[0] == 0
    assert here("run", "wanting", "--workers", "1", "--redraw")[0] == 0
    next((tmp_path / "runs").rglob("u1.safetensors")).unlink()
    assert here("run", "wanting", "--workers", "1", "--redraw")[0] == 2


def test_show_prints_the_needed_data(here):
    assert "MNIST" in json.loads(here("show", "IB.F3", "--json")[1])["needs"]
    assert "RELULAB_DATA=DIR" in " ".join(here("show", "IB.F3")[1].split())
    assert "needs" not in json.loads(here("show", "SS.F7", "--json")[1])
