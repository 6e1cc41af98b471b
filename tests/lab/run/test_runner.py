"""Runs: the same bits in one process, in the pool and resumed; nothing half-written."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import xarray as xr

from relulab import Local, find_study, run_study
from relulab.core.files import atomic
from relulab.lab.claim import claim
from relulab.lab.run.documents import write_bytes
from relulab.lab.run.result_file import encode, read_dataset
from relulab.lab.run.runner import Silent
from relulab.lab.run.store import Run
from relulab.lab.run.unit_file import encode_unit

SMALL = {"seeds": 5, "steps": 20, "over": [1, 4]}


@pytest.fixture(scope="module")
def study():
    return find_study("SS.F7").configured("smoke", SMALL)


@pytest.fixture(scope="module")
def once(study, tmp_path_factory) -> Path:
    """A folder with the finished run; ``finished`` gives copies of it."""
    runs = tmp_path_factory.mktemp("once")
    run_study(study, preset="smoke", runs=runs, engine=Local(1))
    return runs


@pytest.fixture
def finished(study, once, tmp_path, monkeypatch) -> dict:
    """The summary of a finished run in ``tmp_path``, which may be changed."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    with monkeypatch.context() as patch:
        patch.setattr(Local, "run", lambda *_: pytest.fail("it ran again"))
        return run_study(study, preset="smoke", runs=tmp_path, engine=Local(1))


def result(summary: dict) -> xr.Dataset:
    return read_dataset(Path(summary["run"]) / "result.nc")


def test_one_process_pool_and_resumed_give_the_same_bits(study, finished, tmp_path):
    alone = finished
    pool = run_study(study, preset="smoke", runs=tmp_path / "pool", engine=Local(2))

    class Stop(Silent):
        def moved(self, progress):
            if progress["done"]:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study, preset="smoke", runs=tmp_path / "again", engine=Local(1), watcher=Stop())
    run = Run.of(study, "smoke", tmp_path / "again")
    assert run.status["state"] == "interrupted" and run.status["done"] == 1 and not run.finished
    kept = [p.stat().st_mtime_ns for p in (run.path / "units").glob("*.safetensors")]
    resumed = run_study(study, preset="smoke", runs=tmp_path / "again", engine=Local(1))
    assert kept[0] in [p.stat().st_mtime_ns for p in (run.path / "units").glob("*.safetensors")], (
        "a finished unit was made again"
    )

    assert result(alone).equals(result(pool)) and result(alone).equals(result(resumed))
    assert alone["claims"] == pool["claims"] == resumed["claims"]


def test_a_finished_run_is_read_without_measuring(study, finished, tmp_path, monkeypatch):
    monkeypatch.setattr(Local, "run", lambda *_: pytest.fail("it ran again"))
    assert run_study(study, preset="smoke", runs=tmp_path, engine=Local(1)) == finished


def test_a_finished_run_can_be_redrawn_without_training(study, finished, tmp_path, monkeypatch):
    first = finished
    monkeypatch.setattr(type(study), "measure", lambda *_: pytest.fail("it trained again"))
    path = Path(first["run"])
    (path / "claims.json").write_text("[]")
    machine, workers = (path / "env.json").read_text(), Run(path).status["workers"]
    assert run_study(study, preset="smoke", runs=tmp_path, redraw=True)["claims"] == first["claims"]
    assert (path / "env.json").read_text() == machine and Run(path).status["workers"] == workers


def cut(text: bytes) -> bytes:
    return text[: len(text) // 2]


def one_bit_off(text: bytes) -> bytes:
    middle = len(text) // 2
    return text[:middle] + bytes([text[middle] ^ 1]) + text[middle + 1 :]


@pytest.mark.parametrize("damage", [cut, one_bit_off, lambda text: b"no netCDF"], ids=["cut", "bit", "other"])
def test_only_a_damaged_unit_is_measured_again(study, finished, tmp_path, damage):
    run = Run.of(study, "smoke", tmp_path)
    hurt, *whole = study.units()
    run.units.file(hurt).write_bytes(damage(run.units.file(hurt).read_bytes()))
    when = [run.units.file(unit).stat().st_mtime_ns for unit in whole]
    (run.path / "status.json").unlink()
    assert not run.units.has(hurt) and all(run.units.has(unit) for unit in whole)
    before = result(finished)
    assert result(run_study(study, preset="smoke", runs=tmp_path, engine=Local(1))).equals(before)
    assert [run.units.file(unit).stat().st_mtime_ns for unit in whole] == when


def test_the_folder_documents_the_run(study, finished):
    summary = finished
    path = Path(summary["run"])
    assert set(summary) == {"study", "preset", "run", "seconds", "seed_steps", "claims", "symbols"}
    assert set(summary["claims"][0]) >= {"id", "says", "measured", "low", "high", "criterion", "verdict"}
    about = json.loads((path / "config.json").read_text())
    assert about["config"] == study.model_dump(mode="json") and about["changes"]["steps"] == 20
    assert {p.suffix for p in (path / "figures").iterdir()} == {".svg", ".png", ".pdf"}
    events = [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]
    assert [e["unit"] for e in events if "unit" in e] == [u.name for u in study.units()] and "commit" in events[0]
    assert json.loads((path / "env.json").read_text())["packages"]["torch"].startswith("2.13")
    assert not list(path.rglob("*.part*"))


def test_a_second_process_reports_the_first_one_and_waits(study, tmp_path):
    run = Run.of(study, "smoke", tmp_path)
    messages: list[str] = []

    class Recorder(Silent):
        def say(self, message):
            messages.append(message)

    second = threading.Thread(
        target=lambda: run_study(study, preset="smoke", runs=tmp_path, engine=Local(1), watcher=Recorder())
    )
    with run.held(pytest.fail):
        second.start()
        while not messages and second.is_alive():
            time.sleep(0.01)
        assert f"process {os.getpid()} on" in messages[0] and not (run.path / "status.json").exists()
    second.join()
    assert run.finished


@pytest.mark.parametrize("name", ["claims.json", "status.json", "figures.json", "result.nc", "figures/loss.svg"])
def test_a_damaged_conclusion_is_made_again(study, finished, tmp_path, name):
    first = finished
    before = (Path(first["run"]) / "result.nc").read_bytes()
    (Path(first["run"]) / name).unlink() if name.endswith("svg") else (Path(first["run"]) / name).write_text("{half")
    assert run_study(study, preset="smoke", runs=tmp_path, engine=Local(1))["claims"] == first["claims"]
    assert (Path(first["run"]) / "result.nc").read_bytes() == before and (Path(first["run"]) / name).exists()


def test_a_plain_script_needs_no_guard(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(
        "import relulab as rl\n"
        "study = rl.find_study('SS.F7').configured('smoke', {'steps': 5})\n"
        "print(rl.run_study(study, engine=rl.Local(2))['study'], __file__)\n"
    )
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["recovery", str(script)], done.stderr


def test_a_name_is_run_with_the_preset(tmp_path):
    summary = run_study("SS.F8", preset="smoke", runs=tmp_path, engine=Local(1))
    assert summary["study"] == "recovery-order" and summary["preset"] == "smoke"


def test_a_failure_keeps_finished_units_and_is_recorded(study, tmp_path, monkeypatch):
    def fails(self, unit, tick):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(type(study), "measure", fails)
    with pytest.raises(RuntimeError, match="out of luck"):
        run_study(study, preset="smoke", runs=tmp_path, engine=Local(1))
    assert Run.of(study, "smoke", tmp_path).status["state"] == "failed"


def test_atomic_writes_leave_the_old_file_when_they_fail(tmp_path):
    path = tmp_path / "a.nc"
    write_bytes(path, encode(xr.Dataset({"x": ("i", [1.0])})))
    with pytest.raises(RuntimeError), atomic(path) as part:
        part.write_text("half")
        raise RuntimeError
    assert read_dataset(path).x.values.tolist() == [1.0] and list(tmp_path.iterdir()) == [path]


def test_diverged_seeds_give_no_verdict(tmp_path):
    study = find_study("SS.F7").configured("smoke", {**SMALL, "lr": 50})
    claims = run_study(study, preset="quick", runs=tmp_path, engine=Local(1))["claims"]
    assert {c["verdict"] for c in claims} == {"INCONCLUSIVE"}
    assert all("5 of 5 seeds. 10 of 10 networks diverged (first at step" in c["note"] for c in claims)


def test_the_preset_smoke_gives_no_verdict_and_another_preset_does(study, tmp_path, monkeypatch):
    values = [-1.0, -1.1, -0.9, -1.0, -1.2]
    monkeypatch.setattr(type(study), "claims", lambda self, result: [claim("X.1", "False", values, ">", 0)])
    for preset, verdict in (("smoke", "NOT_JUDGED"), ("quick", "REFUTED")):
        (judged,) = run_study(study, preset=preset, runs=tmp_path, engine=Local(1))["claims"]
        assert judged["verdict"] == verdict and ("preset smoke only shows" in judged["note"]) == (preset == "smoke")


def test_labels_of_units_keep_their_length_in_the_result(study, tmp_path):
    run, units = Run.of(study, "smoke", tmp_path), study.units()[:2]
    for unit, label in zip(units, ("paper", "spanning"), strict=True):
        run.units.file(unit).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(run.units.file(unit), encode_unit(xr.Dataset({"x": ("kind", [1.0])}, {"kind": [label]}), {}))
    write_bytes(tmp_path / "result.nc", encode(run.units.joined(units)[0]))
    assert read_dataset(tmp_path / "result.nc").kind.values.tolist() == ["paper", "spanning"]
