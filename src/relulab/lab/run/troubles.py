"""File system errors during a run as one-sentence messages: a full disk, a read-only or a removed folder."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from relulab.core.errors import RunStopped, UserError
from relulab.lab.run.store import Run

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def troubles_of(run: Run) -> Iterator[None]:
    """Turn file system errors into a UserError or RunStopped.

    A folder that cannot be written is a UserError; a disk that becomes full is not.
    """
    try:
        yield
    except OSError as error:
        raise _sentence(run, error) from error


def _sentence(run: Run, error: OSError) -> Exception:
    if error.errno in FULL:
        remedy = "free some space and run the same command again to continue"
        return RunStopped(f"no space left for {run.path} ({error.strerror})", remedy)
    if error.errno in CLOSED or isinstance(error, FileExistsError | NotADirectoryError):
        return UserError(
            f"cannot write to {error.filename or run.path} ({error.strerror}): choose a writable folder with --runs"
        )
    if isinstance(error, FileNotFoundError) and not (run.path / "lock").exists():
        return RunStopped(f"{run.path} was removed during the run", "run the same command to start again")
    return RunStopped(f"{error.filename or run.path}: {error.strerror or error}")
