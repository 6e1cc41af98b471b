"""Full disks, removed folders and similar problems: one sentence, the right exit code, and the run can continue."""

import errno
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from relulab import Local, RunStopped, UserError, find_study, run_study
from relulab.lab.run import job
from relulab.lab.run.documents import read_json, write_json
from relulab.lab.run.engines.measured_unit import measured
from relulab.lab.run.runner import Silent
from relulab.lab.run.store import MARKER, Run
from relulab.lab.study import Unit

SMALL = {"seeds": 2, "steps": 5, "over": [1, 4]}


@pytest.fixture(scope="module")
def study():
    return find_study("SS.F7").configured("smoke", SMALL)


@pytest.fixture(scope="module")
def whole(study, tmp_path_factory) -> Path:
    """The folder of runs with a finished one; copy it before changing it."""
    runs = tmp_path_factory.mktemp("whole")
    run_study(study, preset="smoke", runs=runs, engine=Local(1))
    return runs


@pytest.fixture
def disk(tmp_path):
    """A small disk of its own, given its size: it can be filled and made read-only, which root's folders cannot."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> Path:
        again = "remount," if folder.is_mount() else ""
        words = ["mount", "-t", "tmpfs", "-o", again + options, "tmpfs", str(folder)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"this user cannot mount a tmpfs: {done.stderr.strip()}")
        return folder

    yield mount
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


RUN = ("run", "SS.F7", "--preset", "smoke", *(w for k, v in SMALL.items() for w in ("--set", f"{k}={v}")), "--json")


@pytest.mark.parametrize("kilobytes", [4, 16, 32, 48, 64, 96, 128, 160])
def test_a_full_disk(kilobytes, disk, here, whole, study):
    """The sizes fill up at the lock, the units, the result and the figures."""
    runs = disk(f"size={kilobytes}k")
    code, out, err = here(*RUN, "--runs", str(runs), "--workers", "1")
    assert code == 3 and not out, err
    assert err.startswith("relulab: no space left for ") and "free some space" in err and err.count("\n") == 1
    assert not list(runs.rglob("*.part*"))
    disk("size=8m")
    code, out, err = here(*RUN, "--runs", str(runs), "--workers", "1")
    assert code == 0, err
    again, expected = (Run.of(study, "smoke", folder).path for folder in (runs, whole))
    assert (again / "result.nc").read_bytes() == (expected / "result.nc").read_bytes()
    assert read_json(again / "claims.json") == read_json(expected / "claims.json")


def test_a_disk_that_is_full_for_the_workers(disk, study):
    with pytest.raises(RunStopped, match="no space left"):
        run_study(study, preset="smoke", runs=disk("size=32k"), engine=Local(2))


def test_a_read_only_folder(disk, here):
    disk("size=1m")
    runs = disk("ro")
    for words in (RUN, ("check", "SS.L1")):
        code, _, err = here(*words, "--runs", str(runs))
        assert str(runs) in err and "Read-only file system" in err and err.count("\n") == 1
        assert code == (2 if words is RUN else 0)
    assert not list(runs.iterdir())


def test_a_file_where_the_folder_should_be(here, tmp_path):
    (tmp_path / "runs").write_text("mine")
    code, _, err = here(*RUN)
    assert code == 2 and "--runs" in err and (tmp_path / "runs").read_text() == "mine"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_folder_removed_during_the_run(study, tmp_path, workers):
    run = Run.of(study, "smoke", tmp_path / "runs")

    class Remove(Silent):
        def moved(self, progress):
            shutil.rmtree(run.path.parent, ignore_errors=True)

    with pytest.raises(RunStopped, match="was removed during the run"):
        run_study(study, preset="smoke", runs=tmp_path / "runs", engine=Local(workers), watcher=Remove())
    assert not run.path.exists()


def test_a_clock_that_goes_backwards(study, tmp_path, monkeypatch, here):
    times = (datetime.now(UTC) - timedelta(hours=i) + timedelta(days=3) for i in range(1000))
    monkeypatch.setattr(job, "_now", lambda: next(times).isoformat(timespec="seconds"))
    summary = run_study(study, preset="smoke", engine=Local(1))
    assert 0 < summary["seconds"] < 60 and Run(Path(summary["run"])).finished
    code, out, _ = here("runs")
    assert code == 0 and "finished" in out and "just now" in out
    assert here("report")[0] == 0 and here("watch")[0] == 0


def test_a_lock_of_a_dead_process_is_taken_over(study, tmp_path):
    run = Run.of(study, "smoke", tmp_path)
    run.path.mkdir(parents=True)
    (run.path / "lock").write_text("process 1 on another machine since 1999-01-01 00:00:00")
    run_study(study, preset="smoke", runs=tmp_path, engine=Local(1))
    assert run.finished and run.holder is None


@pytest.mark.parametrize("schema", [0, 1, "new", None])
def test_a_run_with_another_schema_is_not_changed(study, whole, here, schema):
    shutil.copytree(whole, "runs")
    path = Run.of(study, "smoke", Path("runs")).path
    for name in ("config.json", MARKER):
        write_json(path / name, read_json(path / name) | {"schema": schema})
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}
    code, _, err = here(*RUN)
    assert code == 2 and f"has schema {schema!r}" in err and err.count("\n") == 1
    assert {p: p.read_bytes() for p in path.rglob("*") if p.is_file()} == before
    code, _, err = here("run", "SS.F7", "--preset", "smoke", "--config", str(path / "config.json"))
    assert code == 2 and f"has schema {schema!r}" in err
    assert f"schema {schema}" in " ".join(here("runs")[1].split())


def test_the_configuration_of_a_run_can_be_used_again(study, whole, here):
    shutil.copytree(whole, "runs")
    first = str(Run.of(study, "smoke", Path("runs")).path)
    code, out, _ = here(
        "run", "SS.F7", "--preset", "smoke", "--config", f"{first}/config.json", "--json", "--workers", "1"
    )
    assert code == 0 and first in out


@pytest.mark.parametrize("name", ["../up", "a/b", "a\\b", "", ".", "..", "-x", "a\nb", "a\0b"])
def test_names_that_cannot_be_file_names(study, tmp_path, here, name):
    class Odd(type(study)):
        pass

    Odd.name = name
    with pytest.raises(UserError, match="cannot be a file name"):
        run_study(Odd(**study.model_dump()), preset="smoke", runs=tmp_path / "runs")
    with pytest.raises(UserError, match="cannot be a file name"):
        Run(tmp_path).units.file(Unit(name, {}))
    assert not (tmp_path / "runs").exists()
    if "\0" not in name and name != "-x":  # which no command line can say, or takes for an option
        code, _, err = here("run", name)
        assert code == 2 and "no study" in err and not list(tmp_path.iterdir())


def test_an_incomplete_log_line_does_not_damage_the_next(tmp_path):
    run = Run(tmp_path)
    run.log(a=1)
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"half')
    run.log(b=2)
    assert (tmp_path / "log.jsonl").read_text() == '{"a": 1}\n{"half\n{"b": 2}\n'


def test_a_unit_is_measured_on_one_thread_and_restores_the_number(study):
    import torch

    seen, before = [], torch.get_num_threads()
    measured(study, study.units()[0], lambda steps: seen.append(torch.get_num_threads()))
    assert set(seen) == {1} and torch.get_num_threads() == before


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_report_on_a_full_disk_exits_3_and_names_the_file(small_runs, tmp_path, here, monkeypatch, code):
    def full(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("relulab.core.files.os.fsync", full)
    exit_code, _, err = here("report", "--runs", str(small_runs), "--out", str(tmp_path / "out"))
    assert exit_code == 3 and err.count("\n") == 1 and str(tmp_path / "out") in err
    assert not list((tmp_path / "out").rglob(".relulab-*"))
