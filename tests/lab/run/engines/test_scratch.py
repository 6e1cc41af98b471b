"""Temporary files of a local dask cluster: removed at the end, and by the next cluster if a process was killed."""

import os
import tempfile

import pytest

from relulab.lab.run.engines.scratch import NAME, scratch


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_folder_is_removed_however_the_block_ends(temporary):
    with pytest.raises(KeyboardInterrupt), scratch() as folder:
        (folder / "worker.dirlock").write_text("x")
        raise KeyboardInterrupt
    assert not list(temporary.iterdir())


def test_only_folders_of_ended_processes_are_removed(temporary):
    ended, working, other = (temporary / f"{NAME.format(name)}x" for name in (99999999, os.getppid(), "me"))
    for folder in (ended, working, other):
        folder.mkdir()
    (temporary / f"{NAME.format(99999998)}x").symlink_to(other)
    with scratch():
        assert not ended.exists() and working.exists() and other.exists()
