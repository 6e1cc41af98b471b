"""Stop quietly when the output pipe is closed, as in ``relulab list | head -1``."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CODE = 128 + 13  # exit code that a shell reports for a process ended by SIGPIPE


class _PipeClosed(BaseException):
    """Not an OSError: Click and Rich would turn that into exit code 1, which means a refuted claim here."""


class _Stream:
    """stdout or stderr that raises ``_PipeClosed`` when its pipe is closed.

    SIGPIPE itself stays ignored: it would also end the process when the pipe to a worker breaks, which the engine
    handles.
    """

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name: str):
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._pipe_errors():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._pipe_errors():
            self._stream.flush()

    @contextmanager
    def _pipe_errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            with suppress(OSError):  # discard the rest, or Python's last flush would complain
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            raise _PipeClosed from None


@contextmanager
def quiet_pipes() -> Iterator[None]:
    """End the process with code 141 and without a message when the pipe of stdout or stderr is closed."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_Stream, streams)
    try:
        yield
    except _PipeClosed:
        sys.exit(CODE)
    finally:
        sys.stdout, sys.stderr = streams
