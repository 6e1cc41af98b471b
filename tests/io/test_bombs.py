"""Small files that would take all memory, all time or run code: each is read or refused in one sentence."""

import os
import signal
import time

import hostile_files
import pytest
from hostile import limits
from hostile.limits import KINDS, outcome
from hostile.program_files import programs

from relulab import UserError, load

SLOW = {"bytes in an npz", "repeated texts in parquet", "packed idx files"}  # to make


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_hostile_files_and_folders_are_read_or_refused_within_limits(tmp_path, name):
    load(programs(tmp_path))  # starts the process in which programs are tried
    for number in range(1 if name in SLOW else 3):
        assert hostile_files.ended(name, number, tmp_path) in (["read"], ["refused"]), number


def test_harm_would_be_noticed(tmp_path):
    """Negative controls for the table: a hang, a crash, an error and a message of several lines are told apart."""

    def fails(error: Exception):
        def reader(path):
            raise error

        return reader

    assert outcome(lambda path: None, tmp_path) == "read"
    assert outcome(lambda path: os.kill(os.getpid(), signal.SIGSEGV), tmp_path) == "crash by SIGSEGV"
    assert outcome(fails(KeyError("x")), tmp_path).startswith("KeyError in test_bombs.py")
    assert outcome(fails(UserError("two\nlines")), tmp_path).startswith("not a sentence")
    assert outcome(lambda path: bytearray(3 * limits.MEMORY), tmp_path).startswith("MemoryError")
    before, limits.SECONDS = limits.SECONDS, 1
    try:
        assert outcome(lambda path: time.sleep(5), tmp_path) == "hangs"
    finally:
        limits.SECONDS = before
