"""The signals of tests/signal_rounds.py, and what may come of each."""

import os
import random
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import psutil

OURS = re.compile(r"/relulab/\w+")  # a file of relulab in a traceback
PAUSE = 3.0  # seconds for which a worker is stopped
Workers = Callable[[], list[psutil.Process]]
Running = Callable[[], bool]


def several(process: int, times: int, dice: random.Random) -> None:
    for _ in range(times):
        to_all(process, signal.SIGINT)
        time.sleep(dice.uniform(0.02, 0.5))


def to_all(process: int, number: int) -> None:
    """To the process group, as a terminal does."""
    with suppress(ProcessLookupError):
        os.killpg(process, number)


KINDS = {
    "Ctrl-C": (signal.SIGINT, "all"),
    "SIGINT of the parent": (signal.SIGINT, "parent"),
    "Ctrl-C twice": (signal.SIGINT, 2),
    "Ctrl-C three times": (signal.SIGINT, 3),
    "SIGTERM": (signal.SIGTERM, "parent"),
    "SIGTERM of all": (signal.SIGTERM, "all"),
    "SIGHUP": (signal.SIGHUP, "all"),
    "SIGQUIT": (signal.SIGQUIT, "all"),
    "SIGKILL of the parent": (signal.SIGKILL, "parent"),
    "SIGKILL of a worker": (signal.SIGKILL, "worker"),
    "SIGSTOP of a worker": (signal.SIGSTOP, "worker"),
}
"""The signal and who receives it, by name; a number of times for several in quick succession."""


def send(kind: str, process: psutil.Process, workers: Workers, running: Running, dice: random.Random) -> bool:
    """Send a signal. Returns False if no worker was found for it before the run ended."""
    number, receiver = KINDS[kind]
    if receiver == "all":
        to_all(process.pid, number)
    elif receiver == "parent":
        with suppress(psutil.Error):
            process.send_signal(number)
    elif isinstance(receiver, int):
        several(process.pid, receiver, dice)
    else:
        return _to_a_worker(number, workers, running, dice)
    return True


def _to_a_worker(number: int, workers: Workers, running: Running, dice: random.Random) -> bool:
    while running():
        for worker in dice.sample(found := workers(), min(1, len(found))):
            try:
                worker.send_signal(number)
                if number == signal.SIGSTOP:
                    time.sleep(PAUSE)
                    worker.send_signal(signal.SIGCONT)
            except psutil.NoSuchProcess:
                continue
            return True
        time.sleep(0.02)
    return False


def wrong_end(kind: str, code: int, finished_before: bool, err: str, begun: bool) -> str:
    """What is wrong with an exit code; an empty text if nothing is.

    Args:
        kind: The kind of signal.
        code: The exit code, or minus the signal that ended the process.
        finished_before: Whether the run was complete when the signal was sent.
        err: What the process wrote to stderr.
        begun: Whether Python had reached the first line of relulab when the signal was sent.
    """
    number, receiver = KINDS[kind]
    if "Traceback" in err and (begun or OURS.search(err)):
        return "traceback"
    if receiver == "worker" or (code == 0 and finished_before):
        return "" if code == 0 else f"exit code {code}, not 0"
    if number != signal.SIGINT:
        return "" if code == -number else f"exit code {code}, not {-number}"
    # Before the first line of relulab, Python itself ends: by the signal, for which a shell says 130 too, or with 1
    # while it loads its module site.
    by_python = not begun and (code == -number or "Fatal Python error" in err)
    return "" if code == 130 or by_python else f"exit code {code}, not 130"
