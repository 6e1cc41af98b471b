"""Keeping house: what runs there are, and removing them only when told."""

import json
from pathlib import Path

import pytest

from relulab import Local, run_study
from relulab.lab.store import Run, runs_in


@pytest.fixture
def two(here) -> tuple[Run, Run]:
    """A finished run, and one whose process vanished in the middle."""
    done = Run(Path(run_study("SS.F8", preset="smoke", engine=Local(1))["run"]))
    lost = Run(Path("runs/recovery/smoke-0123456789"))
    lost.path.mkdir(parents=True)
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


def test_clean_asks_and_without_a_terminal_wants_to_be_told(two, here):
    code, _, err = here("clean")
    assert code == 2 and "--yes" in err and len(runs_in(Path("runs"))) == 2


def test_clean_removes_what_it_is_told_and_nothing_that_is_held(two, here):
    done, lost = two
    assert json.loads(here("clean", "--unfinished", "--yes", "--json")[1]) == {"removed": [str(lost.path)]}
    assert done.finished and not lost.path.exists()
    with done.held(pytest.fail):
        assert json.loads(here("clean", "--yes", "--json")[1]) == {"removed": []}
    assert json.loads(here("clean", "SS.F7", "--yes", "--json")[1]) == {"removed": []}
    assert json.loads(here("clean", "recovery-order", "--yes", "--json")[1]) == {"removed": [str(done.path)]}


def test_no_runs_says_how_to_make_one(here):
    assert "relulab run" in here("runs")[1]
