"""What worker processes must not inherit: the user's script, and Ctrl-C."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

from relulab.lab.study import Study


@contextmanager
def left_alone(study: Study) -> Iterator[None]:
    """Workers start without importing the user's script again, so that it needs no ``if __name__ == "__main__"``.

    A study that is defined in the script itself can only be found there: then the script needs the guard.
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
    """Processes and threads that start meanwhile never see Ctrl-C, which reaches the whole group: the parent decides.

    Here it waits until the block ends. The mask of blocked signals is inherited, from the first instruction on.
    """
    resource_tracker.ensure_running()  # it comes with the first process, and would lift the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
