"""Keep worker processes from importing the user's script and from receiving Ctrl-C."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

from relulab.lab.study import Study


@contextmanager
def left_alone(study: Study) -> Iterator[None]:
    """Start workers without importing the user's script, so that it needs no ``if __name__ == "__main__"`` guard.

    A study that is defined in the script itself can only be imported from there: then the script needs the guard.
    """
    main = sys.modules["__main__"]
    hidden = {} if type(study).__module__ == "__main__" else {k: main.__dict__.get(k) for k in ("__file__", "__spec__")}
    main.__dict__.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        main.__dict__.update({k: v for k, v in hidden.items() if v is not None})


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
