"""When the output pipe is closed, as by head, the command ends silently."""

import os
import subprocess
import sys

import numpy as np
import pytest

from relulab.lab.cli import main


@pytest.fixture
def unread():
    """The writing end of a pipe whose reading end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", X=np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, -1.0]]), y=[1, 1, 0, 0])
    return tmp_path


RUN = ("run", "SS.F8", "--preset", "smoke", "--set", "steps=10", "--workers", "1")
WORDS = [("list",), ("list", "--json"), ("measure", "max-margin", "data.npz"), (*RUN, "--json"), ("--help",)]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_closed_stdout_ends_the_command_silently(words, unread, folder, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["relulab", *words])
    with open(unread, "w", closefd=False) as stdout, monkeypatch.context() as patch, pytest.raises(SystemExit) as end:
        patch.setattr(sys, "stdout", stdout)
        main()
    assert end.value.code == 141 and capfd.readouterr() == ("", "")


def test_a_closed_stderr_ends_the_command_too(unread, folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["relulab", "run", "SS.F77"])
    with (
        open(unread, "w", 1, closefd=False) as stderr,
        monkeypatch.context() as patch,
        pytest.raises(SystemExit) as end,
    ):
        patch.setattr(sys, "stderr", stderr)
        main()
    assert end.value.code == 141


def test_streams_are_restored(here):
    before = sys.stdout
    assert here("--version")[0] == 0 and sys.stdout is before


def test_python_prints_no_error_at_exit(unread, folder):
    words = [sys.executable, "-c", "from relulab.lab.cli import main; main()", "measure", "max-margin", "data.npz"]
    done = subprocess.run(words, stdout=unread, stderr=subprocess.PIPE, timeout=600)
    assert (done.returncode, done.stderr) == (141, b"")
