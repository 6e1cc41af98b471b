"""A long unit whose process is killed continues from its checkpoint, with the same bits."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
import xarray as xr

from relulab import Dask, Local, UserError, find_study, run_study
from relulab.lab.run import lock
from relulab.lab.run.engines.measured_unit import measured
from relulab.lab.run.engines.unit_tick import UnitTick, unit_tick
from relulab.lab.run.runner import Silent
from relulab.lab.run.store import Run, runs_in
from relulab.lab.run.unit_file import encode_unit

CHANGES = {"seeds": 2, "over": [2], "epochs": 40, "steps": 150}
OFTEN = 0.02
"""seconds between checkpoints"""


@pytest.fixture(scope="module")
def study():
    """One unit that trains for some seconds."""
    study = find_study("SS.F7").configured("smoke", CHANGES)
    assert len(study.units()) == 1
    return study


@pytest.fixture(autouse=True)
def one_format(monkeypatch):
    """Draw no figures: these tests do not look at them."""
    monkeypatch.setattr("relulab.lab.run.job.FORMATS", ("svg",))


@pytest.fixture(scope="module")
def expected(study, tmp_path_factory) -> bytes:
    """The result without checkpoints and without a kill."""
    engine = Local(1, checkpoints=None)
    return content(run_study(study, preset="smoke", runs=tmp_path_factory.mktemp("calm"), engine=engine))


def content(summary: dict) -> bytes:
    return (Path(summary["run"]) / "result.nc").read_bytes()


def events(summary: dict) -> list[dict]:
    return [json.loads(line) for line in (Path(summary["run"]) / "log.jsonl").read_text().splitlines()]


def checkpoints(folder: Path) -> list[Path]:
    return list(folder.rglob("*.checkpoint*"))


def workers(pid: int) -> list[psutil.Process]:
    try:
        return [p for p in psutil.Process(pid).children() if "spawn_main" in " ".join(p.cmdline())]
    except psutil.Error:
        return []


def until(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.005)


def under_way(folder: Path) -> bool:
    """Whether there is a checkpoint of somewhere within the training."""
    found = [p for p in checkpoints(folder) if not p.name.startswith(".")]
    return bool(found) and _epochs(found[0]) > 0


def _epochs(path: Path) -> int:
    from safetensors import safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return json.loads(file.metadata()["notes"])["epoch"]
    except OSError:
        return 0


class Counting(Silent):
    """Keeps the last progress report."""

    def moved(self, progress):
        self.progress = progress


def check_resumed(summary: dict, study, expected: bytes) -> None:
    (resumed,) = [e["resumed"] for e in events(summary) if "resumed" in e]
    assert 0 < resumed["seed_steps"] < study.units()[0].seed_steps and resumed["training"] == 1
    assert content(summary) == expected and not checkpoints(Path(summary["run"]))


def test_a_worker_killed_in_the_middle_of_a_unit(study, expected, tmp_path):
    watcher = Counting()

    def kill() -> None:
        until(lambda: under_way(tmp_path))
        for process in workers(os.getpid()):
            process.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    engine = Local(2, checkpoints=OFTEN)
    summary = run_study(study, preset="smoke", runs=tmp_path, engine=engine, watcher=watcher)
    killer.join()
    assert [e["lost"] for e in events(summary) if "lost" in e] == ["SIGKILL"]
    check_resumed(summary, study, expected)
    # Steps that were not done again count as done, and none twice.
    assert watcher.progress["seed_steps"] == study.units()[0].seed_steps and watcher.progress["share"] == 1


def test_the_parent_killed_in_the_middle_of_a_unit(study, expected, tmp_path):
    code = (
        "import relulab as rl\n"
        f"study = rl.find_study('SS.F7').configured('smoke', {CHANGES})\n"
        f"rl.run_study(study, preset='smoke', runs='runs', engine=rl.Local(2, checkpoints={OFTEN}))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, start_new_session=True)
    until(lambda: under_way(tmp_path))
    left = workers(parent.pid)
    parent.kill()
    parent.wait()
    until(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in left))
    run = Run.of(study, "smoke", tmp_path / "runs")
    assert run.size > 0 and run.state == "stopped" and len(checkpoints(run.path)) >= 1
    summary = run_study(study, preset="smoke", runs=tmp_path / "runs", engine=Local(1, checkpoints=60))
    check_resumed(summary, study, expected)
    assert runs_in(tmp_path / "runs") == [run] and run.remove()


def test_a_dask_worker_with_access_to_the_folder_uses_it(study, expected, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:

        def kill() -> None:
            until(lambda: under_way(tmp_path))
            os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        engine = Dask(cluster.scheduler_address, checkpoints=OFTEN)
        summary = run_study(study, preset="smoke", runs=tmp_path, engine=engine)
        killer.join()
    check_resumed(summary, study, expected)


def test_a_folder_with_the_same_path_on_another_machine_is_not_used(study, tmp_path):
    run = Run.of(study, "smoke", tmp_path)
    with run.held(pytest.fail):
        assert lock.names(run.path, run.holder or "")
        assert not lock.names(run.path, "process 1 on elsewhere since 2020-01-01 00:00:00")
    assert not lock.names(tmp_path / "nowhere", "anybody")
    unit = study.units()[0]
    tick = unit_tick(lambda steps: None, study, unit, None, seconds=60, device="cpu")
    assert tick.checkpoint is None and tick.device == "cpu"


def test_checkpoints_of_finished_units_are_removed(study, tmp_path):
    run, unit = Run.of(study, "smoke", tmp_path), study.units()[0]
    run.path.mkdir(parents=True)
    run.prepare()
    for name in (".checkpoint", ".checkpoint.2"):
        (run.path / "checkpoints" / f"{unit.name}{name}").write_text("old")
    other = run.path / "checkpoints" / "other.checkpoint"
    other.write_text("of a unit under way")
    part = run.path / "units" / ".relulab-99999999-ab.tmp"
    part.write_text("half, of a worker that was killed")
    run.prepare()
    assert len(checkpoints(run.path)) == 3 and not part.exists()
    run.units.keep(unit, encode_unit(xr.Dataset({"x": 1.0}), {}))
    assert checkpoints(run.path) == [other] and run.units.has(unit)
    run.units.checkpoint(unit).write_text("left by a worker that was given up")
    run.prepare()
    assert checkpoints(run.path) == [other]


def test_a_plain_function_can_be_a_tick(study):
    small = study.configured("smoke", {"seeds": 2, "over": [2], "epochs": 1, "steps": 5})
    told: list[int] = []
    plain, _ = measured(small, small.units()[0], told.append)
    rich, _ = measured(small, small.units()[0], UnitTick(told.append))
    assert plain == rich and sum(told) == 2 * small.units()[0].seed_steps


def test_a_run_does_not_mix_devices(tmp_path):
    study = find_study("SS.F7").configured("smoke", {"seeds": 2, "over": [2], "steps": 5})
    summary = run_study(study, preset="smoke", runs=tmp_path, engine=Local(1))
    path = Path(summary["run"])
    assert json.loads((path / "env.json").read_text())["device"] == "cpu" == Run(path).device
    with pytest.raises(UserError, match=r"has 1 of 1 units computed on cpu, but this command computes on cuda"):
        run_study(study, preset="smoke", runs=tmp_path, engine=Local(1, device="cuda"))
    run_study(study, preset="smoke", runs=tmp_path, engine=Local(1, device="cuda"), redraw=True)
    with pytest.raises(UserError, match="expected a device that PyTorch can use, got cuda"):
        run_study(study, preset="smoke", runs=tmp_path / "other", engine=Local(1, device="cuda"))
