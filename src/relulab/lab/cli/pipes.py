"""What a Unix tool does when the reader of its output goes away, as in ``relulab list | head -1``: it stops quietly."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CODE = 128 + 13  # what a shell says of a process that SIGPIPE ended


class _ReaderGone(BaseException):
    """No OSError, of which Click and Rich would make exit code 1, which here means a refuted claim."""


class _Stream:
    """stdout or stderr, but for what a closed pipe raises.

    SIGPIPE itself stays ignored: it would also end the process when a worker's pipe breaks, which is for the engine.
    """

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name: str):
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._told():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._told():
            self._stream.flush()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            with suppress(OSError):  # the rest goes nowhere, or Python's own last flush would complain
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            raise _ReaderGone from None


@contextmanager
def quiet_pipes() -> Iterator[None]:
    """Around all that prints: when the reader of stdout or stderr has gone, the process ends with 141 and no word."""
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_Stream, kept)
    try:
        yield
    except _ReaderGone:
        sys.exit(CODE)
    finally:
        sys.stdout, sys.stderr = kept
