"""The command line in the tests' own process."""

import sys

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
