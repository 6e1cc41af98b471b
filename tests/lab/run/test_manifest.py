"""A finished run notices every change of its files, says so, and makes them again."""

import json
import random
import shutil
from pathlib import Path

import pytest
import xarray as xr

from relulab.core.errors import UserError
from relulab.lab.catalog import find_study
from relulab.lab.run.engines.local import Local
from relulab.lab.run.manifest import listed
from relulab.lab.run.result_file import read_dataset
from relulab.lab.run.runner import run_study
from relulab.lab.run.store import Run
from relulab.lab.run.unit_file import Damaged, decode_unit, encode_unit
from relulab.lab.run.watchers import Silent
from relulab.lab.show.report import build


class Told(Silent):
    """Keeps what a run says."""

    def __init__(self):
        self.words: list[str] = []

    def say(self, text: str) -> None:
        self.words.append(text)


@pytest.fixture
def run(small_runs, tmp_path) -> Run:
    shutil.copytree(small_runs / "recovery", tmp_path / "recovery")
    return Run(next((tmp_path / "recovery").iterdir()))


def again(run: Run, **options) -> list[str]:
    changes = json.loads((run.path / "config.json").read_text())["changes"]
    told = Told()
    study = find_study("recovery").configured("smoke", changes)
    run_study(study, preset="smoke", runs=run.path.parent.parent, engine=Local(1), watcher=told, **options)
    return told.words


def flipped(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    path.write_bytes(content)


def test_every_file_of_the_answer_is_in_the_manifest(run):
    files = {str(path.relative_to(run.path)) for path in run.path.rglob("*") if path.is_file()}
    assert files - set(listed(run.path)) <= {"manifest.json", "lock", "log.jsonl", "progress.json", "requests.json"} | {
        name for name in files if name.startswith("units/")
    }


def test_a_single_bit_is_noticed_in_any_file(run):
    generator = random.Random(0)
    for name in [*listed(run.path), "manifest.json"]:
        path = run.path / name
        before = path.read_bytes()
        for _ in range(5):
            flipped(path, generator.randrange(8 * len(before)))
            assert not run.finished, name
            path.write_bytes(before)
    assert run.finished


@pytest.mark.parametrize("name", ["claims.json", "figures/loss.svg", "result.nc", "status.json", "manifest.json"])
def test_what_was_changed_is_made_again_and_said(run, name):
    claims, result = (run.path / "claims.json").read_bytes(), (run.path / "result.nc").read_bytes()
    flipped(run.path / name, 1234)
    assert run.state == "damaged" or name == "status.json"
    assert any(name in words and "made again" in words for words in again(run))
    assert run.finished and (run.path / "claims.json").read_bytes() == claims
    assert (run.path / "result.nc").read_bytes() == result


def test_a_damaged_record_of_the_device_does_not_count(run):
    path = run.path / "env.json"
    path.write_text(path.read_text().replace('"device": "cpu"', '"device": "c0u"'))
    assert run.device == "c0u" and any("env.json" in words for words in again(run))
    assert run.device == "cpu" and run.finished


def test_a_changed_unit_is_measured_again(run):
    path = next((run.path / "units").glob("*.safetensors"))
    before, whole = path.read_bytes(), read_dataset(run.path / "result.nc")
    flipped(path, 4321)
    again(run, redraw=True)
    assert path.read_bytes() == before
    xr.testing.assert_identical(read_dataset(run.path / "result.nc"), whole)


def test_no_bit_of_a_unit_changes_unnoticed():
    data = xr.Dataset({"x": (("seed", "k"), [[1.0, 2.0]]), "word": ("seed", ["é"])}, {"seed": [3]})
    content = encode_unit(data, {"torch": "2"})
    xr.testing.assert_identical(decode_unit(content).dataset(), data)
    for bit in range(8 * len(content)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        try:  # in JSON there are several kinds of white space, and two ways to write \\u00e9
            assert decode_unit(bytes(changed)).dataset().identical(data)
        except Damaged:
            continue


def other_environment(run: Run) -> None:
    """Makes the first unit one that was measured with another version of torch, and removes the others."""
    first, *others = sorted((run.path / "units").glob("*.safetensors"))
    data = decode_unit(first.read_bytes())
    packages = data.environment["packages"] | {"torch": "1.0"}
    first.write_bytes(encode_unit(data.dataset(), data.environment | {"packages": packages}))
    for path in others:
        path.unlink()
    (run.path / "manifest.json").unlink()


def test_units_of_another_environment_are_said_recorded_and_reported(run, tmp_path):
    other_environment(run)
    assert any("1 of " in words and "instead of 1.0" in words for words in again(run))
    recorded = json.loads((run.path / "env.json").read_text())
    versions = {one["packages"]["torch"]: one["units"] for one in (recorded, *recorded["others"])}
    assert versions["1.0"] == 1 and len(versions) == 2
    build(run.path.parent.parent, tmp_path / "out")
    page = next((tmp_path / "out" / "runs").glob("*.html")).read_text()
    assert "measured elsewhere</dt><dd>1 of 2 units: torch" in page


def test_strict_refuses_to_mix_environments(run):
    other_environment(run)
    with pytest.raises(UserError, match=r"--strict.*--runs"):
        again(run, strict=True)
    assert len([*(run.path / "units").glob("*.safetensors")]) == 1


def test_nothing_in_a_run_names_the_data_folder(run, monkeypatch):
    monkeypatch.setenv("RELULAB_DATA", "/home/somebody/private")
    next((run.path / "units").glob("*.safetensors")).unlink()
    again(run)
    for path in run.path.rglob("*"):
        assert not path.is_file() or b"somebody/private" not in path.read_bytes()
