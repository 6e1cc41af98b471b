"""Units on a dask cluster: the same bits, also when workers are lost."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from scripts import DEFINED, NUMBERS, Session

from relulab import Dask, Local, RunStopped, UserError, find_study, run_study
from relulab.lab.run.runner import Silent

distributed = pytest.importorskip("distributed")
STUDY = ("smoke", {"seeds": 6, "steps": 300, "over": [1, 4]})


@pytest.fixture
def study():
    return find_study("SS.F7").configured(*STUDY)


@contextmanager
def started(workers: int):
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def lasting():
    """Workers that load torch once for all tests."""
    with started(2) as cluster:
        yield cluster


@pytest.fixture
def cluster(lasting):
    """With both workers up again, if the test before killed or restarted one."""
    with distributed.Client(lasting.scheduler_address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
    return lasting


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> dict:
    """The result of a run in this process."""
    return run_study(find_study("SS.F7").configured(*STUDY), runs=tmp_path_factory.mktemp("local"), engine=Local(1))


@pytest.fixture(autouse=True)
def one_format(monkeypatch):
    """Draw no figures: these tests do not look at them."""
    monkeypatch.setattr("relulab.lab.run.job.FORMATS", ("svg",))


def content(summary: dict) -> bytes:
    return (Path(summary["run"]) / "result.nc").read_bytes()


class KillOne(Silent):
    """Kills a worker of the cluster at the first step."""

    def __init__(self, cluster, times: float = 1):
        self.cluster, self.left = cluster, times

    def moved(self, progress):
        if progress["seed_steps"] and self.left > 0:
            self.left -= 1
            victim = next(iter(self.cluster.workers.values())).process.pid
            os.kill(victim, signal.SIGKILL)


def test_a_worker_killed_in_the_middle_changes_nothing(study, cluster, local, tmp_path):
    kill = KillOne(cluster)
    dask = run_study(study, runs=tmp_path / "dask", engine=Dask(cluster.scheduler_address), watcher=kill)
    assert kill.left == 0
    assert content(dask) == content(local) and dask["claims"] == local["claims"]


def test_without_an_address_a_local_cluster_is_started(study, local, tmp_path):
    dask = run_study(study, runs=tmp_path / "dask", engine=Dask(workers=2))
    assert content(dask) == content(local)


def test_a_worker_that_hangs_is_restarted(study, local, tmp_path, monkeypatch):
    monkeypatch.setattr("relulab.lab.run.engines.dask.LOADING", 15.0)  # it may be frozen before its first word
    # Workers of its own: those that another test restarted need not be the ones at work.
    with started(2) as cluster:

        class Freeze(Silent):
            frozen = False

            def moved(self, progress):
                if progress["seed_steps"] and not self.frozen:
                    self.frozen = True
                    os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGSTOP)

        freeze = Freeze()
        # Longer than a step and than a restart takes, but not for ever.
        engine = Dask(cluster.scheduler_address, patience=15)
        dask = run_study(study, runs=tmp_path / "dask", engine=engine, watcher=freeze)
    assert freeze.frozen and content(dask) == content(local)


def test_a_worker_that_hangs_before_its_first_step_is_restarted_too(study, tmp_path, monkeypatch):
    """By a clock of the test's own: no word of any unit, though a worker holds one."""
    from types import SimpleNamespace

    from relulab.lab.run.engines.dask import LOADING, _Calls
    from relulab.lab.run.engines.packed import packed_study
    from relulab.lab.run.store import Run

    restarted, logged, held = [], [], {"tcp://a": ["key-1"], "tcp://b": []}
    client = SimpleNamespace(
        processing=lambda: held, restart_workers=lambda workers, **options: restarted.append(workers)
    )
    monkeypatch.setattr(Run, "log", lambda run, **row: logged.append(row))
    calls = _Calls(client, packed_study(study, study.hash), Run.of(study, "smoke", tmp_path), Dask(patience=5.0))
    futures = {"one": SimpleNamespace(key="key-1"), "two": SimpleNamespace(key="key-2")}
    for _ in range(int(LOADING)):
        calls.restart_hung(futures, 1.0)
    assert not restarted  # it may be loading still
    calls.restart_hung(futures, 1.0)
    assert restarted == [["tcp://a"]] and logged[0]["unit"] == "one"
    held["tcp://a"] = []  # units that no worker has may wait for one as long as it takes
    for _ in range(3 * int(LOADING)):
        calls.restart_hung(futures, 1.0)
    assert len(restarted) == 1


def test_a_scheduler_that_goes_away_stops_the_run(study, tmp_path):
    with started(1) as cluster:

        class Close(Silent):
            def moved(self, progress):
                if progress["seed_steps"]:
                    cluster.close()

        with pytest.raises(RunStopped, match="run the same command again to continue"):
            run_study(study, runs=tmp_path, engine=Dask(cluster.scheduler_address), watcher=Close())


def test_a_study_of_a_notebook_and_the_modules_beside_it_are_sent(cluster, tmp_path, monkeypatch):
    from relulab.lab.run.result_file import read_dataset

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("sent_helper.py").write_text("import sent_deeper\ndef f(x):\n    return sent_deeper.FACTOR * x\n")
    Path("sent_deeper.py").write_text("FACTOR = 4.0\n")
    session = Session(monkeypatch)
    session.cell(DEFINED + "\nimport sent_helper\ndef scaled(x):\n    return sent_helper.f(x)\n")
    engine = Dask(cluster.scheduler_address)
    try:
        run = run_study(session.Mine.configured("smoke"), engine=engine)["run"]
        assert read_dataset(Path(run) / "result.nc").x.values.tolist() == NUMBERS
        Path("sent_deeper.py").write_text("FACTOR = 2.0\n")  # edited, but not imported again
        with pytest.raises(UserError, match="a worker found other code than the run was started with"):
            run_study(session.Mine.configured("quick"), engine=engine)
        session.cell("import threading\nlock = threading.Lock()\ndef scaled(x):\n    with lock: return x")
        with pytest.raises(UserError, match=r"cannot be sent to another process.*create it in measure"):
            run_study(session.Mine.configured("quick"), engine=engine)
    finally:
        for name in ("sent_helper", "sent_deeper"):
            sys.modules.pop(name, None)


def test_an_error_in_a_unit_is_reported(study, cluster, tmp_path):
    lost = study.model_copy(update={"lr": -1.0})
    with pytest.raises(UserError, match=r"lr=-1\.0"):
        run_study(lost, preset="smoke", runs=tmp_path, engine=Dask(cluster.scheduler_address))


@pytest.mark.parametrize("address", ["here", "8786", "http://a"])
def test_an_invalid_address(study, tmp_path, address):
    with pytest.raises(UserError, match="expected an address such as"):
        run_study(study, runs=tmp_path, engine=Dask(address))


def test_a_scheduler_that_does_not_answer(study, tmp_path, monkeypatch):
    monkeypatch.setattr("relulab.lab.run.engines.dask.ANSWER", 0.5)
    with pytest.raises(UserError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:9"):
        run_study(study, runs=tmp_path, engine=Dask("tcp://127.0.0.1:9"))


def test_workers_with_other_versions_are_rejected(study, cluster, tmp_path, monkeypatch):
    from relulab.lab.run.engines import dask

    there = dask.environment()
    there["packages"] |= {"torch": "1.0"}
    monkeypatch.setattr(dask, "environment", lambda: there)
    with pytest.raises(UserError, match=r"has torch .*, but this process has 1\.0: install the same version"):
        run_study(study, runs=tmp_path, engine=Dask(cluster.scheduler_address))


def test_a_scheduler_without_workers_is_reported_and_waited_for(study, tmp_path):
    messages = []
    with started(0) as cluster:

        class Recorder(Silent):
            def say(self, message):
                messages.append(message)
                cluster.scale(1)

        summary = run_study(study, runs=tmp_path, engine=Dask(cluster.scheduler_address), watcher=Recorder())
    assert len(messages) == 1 and "waiting for workers" in messages[0] and summary["study"] == "recovery"


class Unlucky:
    """Stands for LocalCluster: a worker is lost while it starts, as often as wanted."""

    def __init__(self, times: int):
        self.left, self.started, self.real = times, 0, distributed.LocalCluster

    def __call__(self, **options):
        self.started += 1
        self.left -= 1
        if self.left >= 0:
            raise RuntimeError("Nanny failed to start.")
        return self.real(**options)


def test_a_cluster_whose_worker_is_lost_while_it_starts_is_started_again(monkeypatch):
    from relulab.lab.run.engines.dask import _cluster

    twice = Unlucky(2)
    monkeypatch.setattr(distributed, "LocalCluster", twice)
    with _cluster(Dask(workers=1), 1) as (address, _):
        assert address.startswith("tls://127.0.0.1") and twice.started == 3
    never = Unlucky(9)
    monkeypatch.setattr(distributed, "LocalCluster", never)
    with pytest.raises(RunStopped, match="did not start, 3 times"), _cluster(Dask(workers=1), 1):
        pass
    assert never.started == 3


def test_a_command_with_nothing_to_do_removes_what_a_killed_one_has_left(study, tmp_path, monkeypatch):
    import tempfile

    from relulab.lab.run.engines.scratch import NAME
    from relulab.lab.run.store import Run

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f"{NAME.format(99999999)}x"
    (left / "dask-scratch-space").mkdir(parents=True)
    Dask(workers=1).run(study, Run(tmp_path), [], print, print, print)
    assert not left.exists()


def test_ctrl_c_while_it_connects_ends_a_command_at_once(tmp_path):
    """A scheduler that accepts the connection and says nothing: closing it would wait for an answer."""
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        mute.settimeout(60)
        words = ["run", "recovery", "--preset", "smoke", "--scheduler", f"tcp://127.0.0.1:{mute.getsockname()[1]}"]
        start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        code = f"{start}from relulab.__main__ import main; main()"
        command = [sys.executable, "-c", code, *words]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1, text=True)
        held, _ = mute.accept()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        held.close()
    assert process.returncode == 130 and "Traceback" not in err and "stream" not in err
