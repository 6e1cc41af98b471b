"""The command line in the tests' own process; small runs for those who read runs."""

import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """Calls the command line in an empty folder: gives exit code, stdout and stderr."""
    from relulab.lab.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["relulab", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return call


@pytest.fixture(scope="session")
def small_runs(tmp_path_factory) -> Path:
    """A folder with a small run of each of three studies and a theorem's check; copy it before changing it."""
    from relulab import find_study, find_theorem, run_study

    root = tmp_path_factory.mktemp("small-runs")
    for id in ("SS.F5", "SS.F7", "SS.F8"):
        run_study(find_study(id).configured("smoke", {"steps": 10}), preset="smoke", runs=root)
    theorem = find_theorem("SS.L1")
    about = {"title": theorem.title, "statement": theorem.statement, "source": theorem.source}
    (root / "checks").mkdir()
    (root / "checks" / "SS.L1.json").write_text(json.dumps(theorem.demonstrate() | about), encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def moving_runs(tmp_path_factory) -> Path:
    """A folder with a small run of a study that has an animation; copy it before changing it."""
    from relulab import find_study, run_study

    root = tmp_path_factory.mktemp("moving-runs")
    run_study(find_study("SS.F3").configured("smoke", {"steps": 10}), preset="smoke", runs=root)
    return root
