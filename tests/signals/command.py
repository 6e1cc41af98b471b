"""A command of tests/signal_rounds.py in a session of its own, what it has used, and what it leaves."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

LONGEST = 400.0  # seconds, after which a command hangs
GONE = 20.0  # seconds in which all processes of a command must have ended


class Command:
    """A command in a session of its own, in a folder of its own."""

    def __init__(self, folder: Path, arguments: list[str]):
        self.folder, self.known, self.looked_at = folder, {}, 0.0
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        with (folder / "out.txt").open("w") as out, (folder / "err.txt").open("w") as err:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "relulab", *arguments],
                cwd=folder, stdout=out, stderr=err, start_new_session=True,
                env={**os.environ, "TMPDIR": str(folder / "tmp")},
            )  # fmt: skip
        self.process = psutil.Process(self.popen.pid)

    def running(self) -> bool:
        return self.popen.poll() is None

    def used(self) -> float:
        """The processor time of the command and its children so far."""
        if time.monotonic() > self.looked_at + 0.5:
            self.looked_at = time.monotonic()
            for process in [self.process, *children(self.process)]:
                self.known.setdefault(process, 0.0)
        for process in self.known:
            with suppress(psutil.Error):
                self.known[process] = sum(process.cpu_times()[:2])
        return sum(self.known.values())

    def wait_until(self, seconds: float) -> float:
        """Wait until it has used this much processor time, or has ended; returns what it has used."""
        end = time.monotonic() + LONGEST
        while (used := self.used()) < seconds and self.running() and time.monotonic() < end:
            time.sleep(0.02)
        return used

    def end(self) -> int | None:
        """The exit code, or None if it hangs."""
        try:
            return self.popen.wait(LONGEST)
        except subprocess.TimeoutExpired:
            return None

    def left(self) -> list[psutil.Process]:
        """The processes of the session that are still alive after a while."""
        until = time.monotonic() + GONE
        while (found := of_session(self.popen.pid)) and time.monotonic() < until:
            time.sleep(0.1)
        return found


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def of_session(number: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == number and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, ProcessLookupError):
            continue
    return found


def files_of(folder: Path) -> dict[str, bytes]:
    """All files of the only run in a folder."""
    (run,) = folder.glob("runs/*/*")
    return {str(p.relative_to(run)): p.read_bytes() for p in run.rglob("*") if p.is_file()}


def temporary(folder: Path) -> set[str]:
    return {str(path.relative_to(folder / "tmp")) for path in (folder / "tmp").rglob("*")}
