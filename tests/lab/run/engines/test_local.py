"""Supervised workers: what dies or hangs is replaced, what cannot be helped ends the run with the reason."""

import json
import math
import multiprocessing
import threading
from pathlib import Path

import psutil
import pytest

from relulab import Local, RunStopped, UserError, find_study, run_study
from relulab.lab.run.engines.local import _Crew
from relulab.lab.run.engines.packed import packed_study
from relulab.lab.run.result_file import read_dataset
from relulab.lab.run.runner import Silent
from relulab.lab.run.store import Run


@pytest.fixture(scope="module")
def study():
    return find_study("SS.F7").configured("smoke", {"seeds": 5, "steps": 20, "over": [1, 4]})


@pytest.fixture(scope="module")
def undisturbed(study, tmp_path_factory) -> dict:
    return run_study(study, runs=tmp_path_factory.mktemp("undisturbed"), engine=Local(1))


@pytest.fixture(autouse=True)
def one_format(monkeypatch):
    """Draw no figures: these tests do not look at them."""
    monkeypatch.setattr("relulab.lab.run.job.FORMATS", ("svg",))


def losses(summary: dict) -> list[str]:
    """Return why workers were lost, according to the log of the run."""
    events = map(json.loads, (Path(summary["run"]) / "log.jsonl").read_text().splitlines())
    return [event["lost"] for event in events if "lost" in event]


def same(a: dict, b: dict) -> bool:
    results = [read_dataset(Path(summary["run"]) / "result.nc") for summary in (a, b)]
    return results[0].identical(results[1]) and a["claims"] == b["claims"]


class Kill(Silent):
    """Kills all workers, the first ``times`` times that it is told of progress."""

    def __init__(self, times: float):
        self.left = times

    def moved(self, progress):
        self.left -= 1
        for worker in multiprocessing.active_children() if self.left >= 0 else ():
            worker.kill()


class Freeze(Silent):
    """Stops one worker, once, so that it neither works nor ends."""

    frozen = None

    def moved(self, progress):
        if not self.frozen and progress["done"]:  # most likely, the others have loaded PyTorch, too
            self.frozen = psutil.Process(multiprocessing.active_children()[0].pid)
            self.frozen.suspend()


class Pause(Freeze):
    """Stops one worker that has made no step yet, and lets it go on after some seconds."""

    def __init__(self, seconds: float):
        self.seconds = seconds

    def moved(self, progress):
        if not self.frozen and progress["seed_steps"] == 0:
            super().moved(progress | {"done": 1})
            threading.Timer(self.seconds, self.frozen.resume).start()


def test_a_worker_that_dies_is_replaced_and_nothing_is_lost(study, undisturbed, tmp_path):
    disturbed = run_study(study, runs=tmp_path, engine=Local(2), watcher=Kill(2))
    assert same(disturbed, undisturbed) and "SIGKILL" in losses(disturbed)


def test_a_worker_that_hangs_is_replaced_and_nothing_is_lost(study, undisturbed, tmp_path):
    freeze = Freeze()
    disturbed = run_study(study, runs=tmp_path, engine=Local(2, patience=20), watcher=freeze)
    assert same(disturbed, undisturbed) and losses(disturbed) in (["no step for 20 s"], ["no step for 60 s"])
    assert not freeze.frozen.is_running()


def test_a_worker_that_is_stopped_while_it_loads_is_waited_for(study, undisturbed, tmp_path):
    pause = Pause(7)
    disturbed = run_study(study, runs=tmp_path, engine=Local(2, patience=5), watcher=pause)
    assert pause.frozen and same(disturbed, undisturbed) and losses(disturbed) == []


def test_a_worker_shares_no_lock_that_it_could_take_to_its_death(study, tmp_path):
    worker = _Crew(packed_study(study, study.hash), Run(tmp_path), Local(2), 2).hire()
    worker.dismiss()
    assert not hasattr(worker.counter, "get_lock") and worker.progress(0.1) == 0


def test_a_unit_whose_workers_always_die_ends_the_run_with_the_reason(study, tmp_path):
    with pytest.raises(RunStopped, match=r"over\d-seeds\d-\d was lost 3 times \(SIGKILL\).*--workers"):
        run_study(study, preset="smoke", runs=tmp_path, engine=Local(2), watcher=Kill(math.inf))
    assert Run.of(study, "smoke", tmp_path).status["state"] == "failed"
    assert not multiprocessing.active_children()


def test_a_unit_that_always_hangs_ends_the_run_with_the_reason(study, tmp_path, monkeypatch):
    monkeypatch.setattr("relulab.lab.run.engines.local.LOADING", 0.3)
    # Loading torch takes longer than this, so no worker ever does a step in time.
    with pytest.raises(RunStopped, match=r"was lost 3 times \(no step for 0\.3 s\).*--patience"):
        run_study(study, preset="smoke", runs=tmp_path, engine=Local(2, patience=0.3))
    assert not multiprocessing.active_children()


def test_an_error_in_a_worker_comes_with_its_traceback(study, tmp_path):
    lost = study.model_copy(update={"lr": -1.0})  # unchecked on purpose: it fails in the worker
    with pytest.raises(UserError, match=r"lr=-1\.0") as error:
        run_study(lost, preset="smoke", runs=tmp_path, engine=Local(2))
    assert "measured" in "".join(error.value.__notes__)


def test_a_single_unit_is_supervised(tmp_path):
    study = find_study("SS.F7").configured("smoke", {"steps": 20, "over": [1]})
    assert len(study.units()) == 1
    disturbed = run_study(study, runs=tmp_path, engine=Local(2), watcher=Kill(1))
    assert losses(disturbed) == ["SIGKILL"]


def test_ten_workers_are_kept_busy_by_quick():
    study = find_study("SS.F7").configured("quick")
    rates = {1: 86_000, 2: 62_000, 5: 33_000, 10: 20_500}  # seed-steps a second, by width
    ends = [0.0] * 10
    for unit in sorted(study.units(), key=lambda unit: -unit.flops):
        ends[ends.index(min(ends))] += unit.seed_steps / rates[unit.values["over"]]
    assert sum(ends) / (10 * max(ends)) > 0.85
