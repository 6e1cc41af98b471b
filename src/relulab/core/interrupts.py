"""Ctrl-C in the command line: one ends the command in order, and more of them do not disturb that.

Until this file is loaded, Ctrl-C shows a traceback of Python. So it imports only what Python has loaded already:
``_signal`` instead of ``signal``, which takes 10 ms, and nothing from ``typing``, which takes 20 ms.
"""

import os
import sys
import time

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn
else:
    import _signal as signal

CODE = 130
"""Exit code of an interrupted command."""
IGNORED = signal.SIG_IGN
"""the handler that ignores Ctrl-C"""
AGAIN = 0.3  # seconds after which a KeyboardInterrupt that was lost is raised again
PATIENCE = 10.0  # seconds after the first Ctrl-C from which another one ends the process at once

_first: float | None = None


def end_at_once(*_: "Any") -> "NoReturn":
    """End the process. For the time before the command begins, when there is nothing to put in order."""
    os.write(2, b"interrupted\n")
    os._exit(CODE)


def interrupt(*_: "Any") -> None:
    """Raise KeyboardInterrupt at the first Ctrl-C. Ignore others, because the command is ending already.

    Some code of libraries catches every exception, and extension modules drop those that are raised inside them. So the
    exception is raised again while no code handles it, until ``settle`` is called. Python drops those that are raised
    while an object is deleted, too, and would print a traceback of them.
    """
    if note():
        sys.unraisablehook = _dropped
        signal.signal(signal.SIGALRM, _again)
        signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        if not loads_torch():
            raise KeyboardInterrupt


def loads_torch() -> bool:
    """Whether PyTorch is being imported: an exception in its C++ code would then abort the process."""
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def _dropped(unraisable: "Any") -> None:
    if not behind(unraisable.exc_value):
        sys.__unraisablehook__(unraisable)


def _again(*_: "Any") -> None:
    # If a KeyboardInterrupt is being handled, the code that is running now is putting things in order.
    if not loads_torch() and not behind(sys.exc_info()[1]):
        raise KeyboardInterrupt


def behind(error: BaseException | None) -> bool:
    """Whether an error is a KeyboardInterrupt or was raised in place of one, as Python does while it builds a class.

    Args:
        error: The error.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def settle() -> None:
    """Do not raise KeyboardInterrupt again: the command has ended."""
    signal.setitimer(signal.ITIMER_REAL, 0.0)


def leave(*_: "Any") -> None:
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


def handled(handler: "Any") -> None:
    """Handle Ctrl-C with a function, unless it is ignored, as it is for processes in the background.

    Args:
        handler: The handler, as for ``signal.signal``.
    """
    if signal.getsignal(signal.SIGINT) is not IGNORED:
        signal.signal(signal.SIGINT, handler)
