"""SIGKILL at random instants of a run, of the parent and of workers: the same command ends with the same bits."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from relulab.lab.cli import main

WORDS = ["run", "SS.F7", "--preset", "smoke", "--set", "seeds=4", "--set", "steps=400", "--json", "--workers", "2"]
# Children of a shell in the background inherit that Ctrl-C is ignored; in a terminal it is not.
CODE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from relulab.__main__ import main; main()"
)
COMMAND = [sys.executable, "-c", CODE, *WORDS]


def start(folder: Path, *more: str) -> subprocess.Popen:
    """The command in a session of its own, as a terminal starts it."""
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [*COMMAND, *more],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen) -> None:
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err


def outcome(folder: Path) -> dict[str, bytes]:
    """All that a run concludes, bit for bit, once nothing half-written is left."""
    (run,) = folder.glob("runs/*/*")
    assert not list(run.rglob("*.part*"))
    return {name: (run / name).read_bytes() for name in ("result.nc", "claims.json", "config.json", "figures.json")}


def until_there(folder: Path, process: subprocess.Popen) -> None:
    """Waits until the run has a folder: before that, the process only loads what it needs."""
    while not list(folder.glob("runs/*/*/config.json")) and process.poll() is None:
        time.sleep(0.02)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[dict[str, bytes], float, float]:
    """What it concludes, the seconds until there is a folder, and those from then on."""
    folder, begun = tmp_path_factory.mktemp("undisturbed"), time.monotonic()
    process = start(folder)
    until_there(folder, process)
    there = time.monotonic()
    finish(process)
    return outcome(folder), there - begun, time.monotonic() - there


def children(pid: int) -> list[psutil.Process]:
    try:
        # The resource tracker of multiprocessing is a child too, but no worker.
        return [p for p in psutil.Process(pid).children() if "spawn_main" in " ".join(p.cmdline())]
    except psutil.Error:
        return []


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; one that ended and that nobody has asked about yet does not."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def all_gone(processes: list[psutil.Process]) -> bool:
    """Whether all of them end, a moment after their parent."""
    until = time.monotonic() + 20
    while any(alive(process) for process in processes) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(alive(process) for process in processes)


@pytest.mark.parametrize("instant", range(6))
def test_the_parent_killed_at_a_random_instant(instant, undisturbed, tmp_path, monkeypatch):
    expected, loading, rest = undisturbed
    process, share = start(tmp_path / "a"), random.Random(instant).random()
    # One draw while it loads, and one in each fifth of what comes then, so that every phase of it is met.
    if instant:
        until_there(tmp_path / "a", process)
    time.sleep(rest * (instant - 1 + share) / 5 if instant else loading * share)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    assert all_gone(workers)
    if instant == 4:
        finish(start(tmp_path / "a"))
    else:  # the same command in this process, which has torch already
        monkeypatch.chdir(tmp_path / "a")
        monkeypatch.setattr(sys, "argv", ["relulab", *WORDS[:-1], "1"])
        with pytest.raises(SystemExit, match="0"):
            main()
    assert outcome(tmp_path / "a") == expected


@pytest.mark.parametrize("run", range(3))
def test_workers_killed_at_two_random_instants(run, undisturbed, tmp_path):
    expected, _, rest = undisturbed
    process, dice = start(tmp_path / "a"), random.Random(100 + run)
    for _ in range(2):
        while not children(process.pid) and process.poll() is None:
            time.sleep(0.02)
        time.sleep(rest / 2 * (run + dice.random()) / 3)
        if workers := children(process.pid):
            dice.choice(workers).send_signal(signal.SIGKILL)
    finish(process)
    assert outcome(tmp_path / "a") == expected


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_ctrl_c_leaves_nothing_running_and_the_same_command_finishes(engine, tmp_path):
    """On a run of many units, so that most of it is still to do when the first one is there."""
    folder, more = tmp_path / "a", ("--set", "seeds=12", "--set", "steps=2000", "--engine", engine)
    process = start(folder, *more)
    while not list(folder.glob("runs/*/*/units/over*.safetensors")) and process.poll() is None:
        time.sleep(0.02)
    workers = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err and "run the same command again to continue" in err, err
    assert workers and all_gone(workers)
    # A unit counts once its checksum is there.
    kept = {path: path.stat().st_mtime_ns for path in folder.rglob("units/over*.safetensors")}
    assert 0 < len(kept) < 9
    finish(start(folder, *more))
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    assert len(list(folder.rglob("units/over*.safetensors"))) == 9
