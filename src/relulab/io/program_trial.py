"""Try an exported program in another process before it runs in this one.

The checks of ``program_checks`` cover what is known to harm. A kernel of PyTorch may have other faults, and a crash
should end that process and not a notebook with a day's work in it. One process is started for all programs.
"""

import atexit
import json
import resource
import select
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from relulab.core.errors import UserError

SECONDS = 60.0
"""Longest time for reading a program and evaluating it at two points."""
MEMORY = 4_000_000_000
"""Largest memory in bytes that this may take."""

_lock = threading.Lock()
_child: subprocess.Popen[bytes] | None = None


def check_in_child(path: Path) -> None:
    """Raise a UserError if a program crashes, or takes too long or too much memory, at two points of zeros.

    Args:
        path: The .pt2 file.
    """
    global _child
    with _lock:
        if _child is None or _child.poll() is not None:
            _child = _started()
        answer = _asked(_child, str(path.absolute()))
        if answer is not None:
            return
        code = _child.poll()
        _end(_child)
        _child = None
    if code is None:
        raise UserError(f"{path} takes more than {SECONDS:g} s for two points: use a smaller network")
    raise UserError(
        f"{path} ended the process in which it was tried (exit code {code}), perhaps because it needs more than "
        f"{MEMORY / 1e9:g} GB of memory: export the model again"
    )


def _started() -> "subprocess.Popen[bytes]":
    child = subprocess.Popen(
        [sys.executable, "-c", "from relulab.io.program_trial import serve; serve()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    atexit.register(_end, child)
    if _answer(child, SECONDS) is None:
        raise UserError("cannot start a process to try programs in: check that python can import relulab")
    return child


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Kill the child and close its pipes."""
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        assert pipe is not None
        with suppress(OSError):  # what was not written yet
            pipe.close()


def _asked(child: "subprocess.Popen[bytes]", path: str) -> Any:
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(path).encode() + b"\n")
        child.stdin.flush()
    except OSError:
        return None
    return _answer(child, SECONDS)


def _answer(child: "subprocess.Popen[bytes]", seconds: float) -> Any:
    """Return the next line of the child; None if it ends or is silent for too long."""
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], seconds)
    line = child.stdout.readline() if ready else b""
    if not line and ready:
        child.wait(timeout=seconds)
    return json.loads(line) if line else None


def serve() -> None:
    """Try programs whose paths come from standard input, one per line. Runs in the child."""
    import torch

    from relulab.io.program import load_program

    torch.set_num_threads(1)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    answers = sys.stdout.buffer
    answers.write(b'"ready"\n')
    answers.flush()
    for line in sys.stdin.buffer:
        try:
            program = load_program(json.loads(line), tried=True)
            program(torch.zeros([2 if n is None else n for n in program.sizes]))
            word = "ran"
        except (UserError, MemoryError):  # what is wrong will be said in the parent, with the user's own points
            word = "refused"
        answers.write(json.dumps(word).encode() + b"\n")
        answers.flush()
