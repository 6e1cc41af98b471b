"""What a run called from Python shows: a bar where a person watches, elsewhere messages only, or nothing."""

import pytest
from scripts import DEFINED, Session

from relulab import Local, run_study
from relulab.lab.run.watchers import Silent


@pytest.fixture
def shown(monkeypatch, tmp_path, capsys):
    """Runs a small study with some options and returns what it shows on stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("relulab.lab.run.job.FORMATS", ("svg",))
    session = Session(monkeypatch)
    session.cell(DEFINED)

    def run(**options) -> str:
        capsys.readouterr()
        session.cell("SCALE = SCALE + 1")  # another run each time
        run_study(session.Mine.configured("smoke"), engine=Local(1), **options)
        return capsys.readouterr().err

    return run


def test_nothing_is_shown_where_nobody_watches(shown):
    assert shown() == "" and shown(progress=False) == "" and shown(watcher=Silent(), progress=True) == ""


def test_progress_is_shown_where_a_person_watches_or_asks_for_it(shown, monkeypatch):
    assert "3 units, about" in (said := shown(progress=True)) and "results go to runs/mine/smoke-" in said
    assert "3 of 3 units" in said
    monkeypatch.setattr("relulab.lab.run.runner.watched", lambda: True)
    assert "3 of 3 units" in shown() and shown(progress=False) == ""


def test_messages_are_shown_where_nobody_watches(shown, monkeypatch):
    """Such as what the run waits for: a script that stands still must say why."""

    def wait(engine, study, run, units, on_unit, on_steps, say):
        say("waiting for workers")
        return before(engine, study, run, units, on_unit, on_steps, say)

    before = Local.run
    monkeypatch.setattr(Local, "run", wait)
    assert shown() == "  waiting for workers\n" and shown(progress=False) == ""
