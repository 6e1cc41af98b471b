"""Bars appear where a person watches: in a terminal after a few seconds, in a notebook as a line that changes."""

import io
import sys
from types import SimpleNamespace

import pytest
import torch
from rich.console import Console
from torch.nn import Linear

from relulab import balanced, fit, gradient_flow, sgd, torch_default
from relulab.core import progress_bar
from relulab.core.progress_bar import Bar, Progress, quiet, watched
from relulab.data.tensor_task import TensorTask

X = torch.linspace(-1, 1, 64)[:, None]


@pytest.fixture
def terminal(monkeypatch):
    """Returns a function that makes stderr a terminal, in which bars appear at once."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(progress_bar, "AFTER", 0.0)
    monkeypatch.setenv("TERM", "xterm")

    def made() -> Terminal:  # in the test itself: pytest sets stderr anew for each phase
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return made


@pytest.fixture
def notebook(monkeypatch):
    """IPython's kernel, with the lines that it displays: a list for each display, which updates replace."""
    displays: list[str] = []

    class ZMQInteractiveShell:
        pass

    def display(shown, raw, display_id):
        displays.append(shown["text/plain"])
        return SimpleNamespace(update=lambda shown, raw: displays.__setitem__(-1, shown["text/plain"]))

    ipython = SimpleNamespace(get_ipython=ZMQInteractiveShell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(progress_bar, "AFTER", 0.0)
    return displays


def train(**options) -> None:
    fit(Linear(1, 1), (X, X), epochs=2, batch=8, **options)


def test_training_shows_its_progress_in_a_terminal(terminal):
    shown = terminal()
    train()
    assert "16 of 16 seed-steps" in shown.getvalue()


def test_a_short_training_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(progress_bar, "AFTER", 3.0)
    shown = terminal()
    train()
    assert not shown.getvalue()
    train(progress=True)
    assert "seed-steps" in shown.getvalue()


@pytest.mark.parametrize("options", [{"progress": False}, {"tick": lambda steps: None}])
def test_no_bar_if_it_is_switched_off_or_the_caller_counts(terminal, options):
    shown = terminal()
    train(**options)
    assert not shown.getvalue()


def test_no_bar_inside_of_something_that_shows_its_progress(terminal):
    shown = terminal()
    with quiet():
        assert not watched()
        train()
        train(progress=True)
    assert not shown.getvalue() and watched()


def test_nothing_is_shown_where_nobody_watches(capsys, monkeypatch):
    monkeypatch.setattr(progress_bar, "AFTER", 0.0)
    train()
    assert capsys.readouterr().err == ""
    train(progress=True)
    assert "16 of 16 seed-steps" in capsys.readouterr().err


def test_ticks_of_the_caller_arrive_with_a_bar(terminal):
    shown = terminal()
    ticks = []
    train(tick=ticks.append, progress=True)
    assert sum(ticks) == 16 and "16 of 16" in shown.getvalue()


def test_all_ways_to_train_show_their_progress(notebook):
    sgd(torch_default((1, 4, 1), seeds=[0]), TensorTask(X, X.abs()), epochs=4, steps=4)
    assert len(notebook) == 1 and notebook[0].startswith("100% 16 of 16 seed-steps")
    points = torch.tensor([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
    labels = torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64)
    gradient_flow(balanced((2, 6, 1), seeds=[0], size=1e-6), points, labels, until=20)
    assert len(notebook) == 2 and notebook[1].startswith("100% step ") and notebook[1].endswith(" of -20")
    gradient_flow(balanced((2, 6, 1), seeds=[0], size=1e-6), points, labels, until=20, progress=False)
    assert len(notebook) == 2


def test_a_notebook_shows_one_line_that_changes(notebook):
    with Progress() as progress:
        progress.begun -= 10
        for share in (0.25, 0.5):
            progress.show(share, "working")
    assert notebook == [" 50% working, 10 s left"]


def test_plain_lines_are_printed_from_time_to_time_and_at_the_end(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=False)
    bar = Bar(console)
    for share in (0.2, 0.4, 1.0):
        bar.show(share, f"at {share}")
    assert console.file.getvalue() == "  at 1.0\n"
    monkeypatch.setattr(progress_bar, "LINE", 0.0)
    bar.show(0.6, "at 0.6")
    assert console.file.getvalue() == "  at 1.0\n  at 0.6\n"
