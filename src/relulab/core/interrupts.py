"""Ctrl-C in the command line: one ends the command in order, and more of them do not disturb that."""

import os
import signal
import sys
import time
from typing import Any, NoReturn

CODE = 130
"""Exit code of an interrupted command."""
AGAIN = 0.3  # seconds after which a KeyboardInterrupt that was lost is raised again
PATIENCE = 10.0  # seconds after the first Ctrl-C from which another one ends the process at once

_first: float | None = None


def end_at_once(*_: Any) -> NoReturn:
    """End the process. For the time before the command begins, when there is nothing to put in order."""
    os.write(2, b"interrupted\n")
    os._exit(CODE)


def interrupt(*_: Any) -> None:
    """Raise KeyboardInterrupt at the first Ctrl-C. Ignore others, because the command is ending already.

    Some code of libraries catches every exception, and extension modules drop those that are raised inside them. So the
    exception is raised again while no code handles it, until ``settle`` is called.
    """
    if note():
        signal.signal(signal.SIGALRM, _again)
        signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        raise KeyboardInterrupt


def _again(*_: Any) -> None:
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    if error is None:  # otherwise the code that is running now is putting things in order
        raise KeyboardInterrupt


def settle() -> None:
    """Do not raise KeyboardInterrupt again: the command has ended."""
    signal.setitimer(signal.ITIMER_REAL, 0.0)


def leave(*_: Any) -> None:
    """End the process at the first Ctrl-C. For the time after the command, when Python puts itself in order."""
    if note():
        end_at_once()


def note() -> bool:
    """Remember a Ctrl-C and return whether it is the first one; end the process if ending takes too long."""
    global _first
    now = time.monotonic()
    if _first is None:
        _first = now
        return True
    if now - _first > PATIENCE:
        end_at_once()
    return False


def forget_in_python() -> None:
    """Let Python end with the exit code that it is given, even after a KeyboardInterrupt.

    If one passes through code that is executed from a string, as dataclasses do, Python remembers it and ends by the
    signal, although it was handled. Executing any other string makes it forget that.
    """
    eval("0")


def handled(handler: Any) -> None:
    """Handle Ctrl-C with a function, unless it is ignored, as it is for processes in the background.

    Args:
        handler: The handler, as for ``signal.signal``.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
