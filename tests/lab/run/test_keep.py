"""Managing stored runs: listing, watching and removing them."""

import json
import shutil
import threading
import time
from pathlib import Path

import pytest

from relulab.lab.run.documents import write_json
from relulab.lab.run.store import Run, runs_in


@pytest.fixture
def two(here, small_runs) -> tuple[Run, Run]:
    """A finished run, and one whose process vanished in the middle."""
    shutil.copytree(small_runs / "recovery-order", "runs/recovery-order")
    done = Run(next(Path("runs/recovery-order").iterdir()))
    lost = Run(Path("runs/recovery/smoke-0123456789"))
    lost.create()
    (lost.path / "config.json").write_text("{}")
    (lost.path / "status.json").write_text(json.dumps({"state": "running", "done": 1, "units": 2}))
    return done, lost


def test_states_sizes_and_ages(two, here):
    done, lost = two
    rows = {row["run"]: row for row in json.loads(here("runs", "--json")[1])}
    assert rows[str(done.path)]["state"] == "finished" and rows[str(lost.path)]["state"] == "stopped"
    assert rows[str(done.path)]["bytes"] == sum(p.stat().st_size for p in done.path.rglob("*") if p.is_file()) > 1000
    with lost.held(pytest.fail):
        text = here("runs")[1]
        assert lost.state == "running" and "running by process" in " ".join(text.split())
    assert lost.holder is None


def test_clean_needs_yes_without_a_terminal(two, here):
    code, _, err = here("clean")
    assert code == 2 and "--yes" in err and len(runs_in(Path("runs"))) == 2


def test_clean_removes_the_chosen_runs_but_none_in_progress(two, here):
    done, lost = two
    assert json.loads(here("clean", "--unfinished", "--yes", "--json")[1]) == {"removed": [str(lost.path)]}
    assert done.finished and not lost.path.exists()
    with done.held(pytest.fail):
        assert json.loads(here("clean", "--yes", "--json")[1]) == {"removed": []}
    assert json.loads(here("clean", "SS.F7", "--yes", "--json")[1]) == {"removed": []}
    assert json.loads(here("clean", str(done.path), "--yes", "--json")[1]) == {"removed": [str(done.path)]}
    assert not done.path.parent.exists() and Path("runs").is_dir()


def test_runs_explains_how_to_start_one_if_there_are_none(here):
    assert "relulab run" in here("runs")[1]


def test_watch_follows_a_run_until_it_ends(two, here, monkeypatch):
    _, run = two
    progress = {"done": 1, "units": 2, "seed_steps": 9, "share": 0.5, "rate": 1000.0, "left": 61.0, "memory": 2e9}
    write_json(run.path / "progress.json", progress)
    monkeypatch.setattr("relulab.core.progress_bar.LINE", 0.0)
    held, ended = threading.Event(), threading.Event()

    def hold():
        with run.held(pytest.fail):
            held.set()
            ended.wait(30)
            time.sleep(1)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    row = json.loads(here("watch", "--json")[1])
    assert row["state"] == "running" and row["progress"] == progress
    ended.set()
    code, out, err = here("watch", str(run.path))
    thread.join()
    assert "1 of 2 units, 1,000 seed-steps/s, 61 s left, 2.0 GB" in err
    assert code == 3 and "stopped, 1 of 2 units" in " ".join(out.split())


@pytest.mark.parametrize("words", [["nonsense"], ["SS.F5"], ["../elsewhere"], ["runs"]])
def test_watch_reports_unknown_runs(words, two, here):
    code, out, err = here("watch", *words)
    assert code == 2 and err.count("\n") == 1 and not out


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", "[]", "\x00", "null", '{"schema": {"a": 1}}'])
def test_malformed_files_in_a_run_cause_no_internal_error(text, here, tmp_path):
    folder = tmp_path / "runs" / "recovery" / "smoke-0123456789"
    Run(folder).create()
    for name in ("manifest", "config", "status", "progress", "claims", "figures", "env"):
        (folder / f"{name}.json").write_text(text)
    assert here("runs")[0] == 0 and here("runs", "--json")[0] == 0
    assert here("watch")[0] in (2, 3) and here("clean", "--yes")[0] == 0 and not folder.exists()
