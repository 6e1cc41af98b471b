"""Keep worker processes from running the user's script and from receiving Ctrl-C."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def left_alone() -> Iterator[None]:
    """Start workers that do not run the user's script, so that it needs no ``if __name__ == "__main__"`` guard.

    A study that is defined in the script itself is sent to them with its code (``engines.packed``).
    """
    main = vars(sys.modules["__main__"])
    hidden = {name: main.pop(name) for name in ("__file__", "__spec__") if name in main}
    main["__spec__"] = None  # multiprocessing needs it; a __file__ of None would break inspect, and so Pydantic
    try:
        yield
    finally:
        main.update(hidden)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Block Ctrl-C in the processes and threads that are started inside the block.

    Ctrl-C goes to the whole process group, but only the parent should handle it. Started processes inherit the mask of
    blocked signals from their first instruction on. In this process, Ctrl-C is delayed until the block ends.
    """
    resource_tracker.ensure_running()  # it would start with the first process and unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
