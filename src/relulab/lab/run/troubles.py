"""What a machine can do to a run, said in a sentence: a full disk, a folder that is read-only or goes away."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from relulab.core.errors import RunStopped, UserError
from relulab.lab.run.store import Run

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def troubles_of(run: Run) -> Iterator[None]:
    """Turns the errors of the file system into sentences.

    A folder that cannot be written is a mistake of the call; a disk that runs full is not.
    """
    try:
        yield
    except OSError as error:
        raise _sentence(run, error) from error


def _sentence(run: Run, error: OSError) -> Exception:
    if error.errno in FULL:
        remedy = "make room, then the same command continues"
        return RunStopped(f"no space is left for {run.path} ({error.strerror})", remedy)
    if error.errno in CLOSED or isinstance(error, FileExistsError | NotADirectoryError):
        return UserError(
            f"cannot write in {error.filename or run.path} ({error.strerror}): give a folder of yours with --runs"
        )
    if isinstance(error, FileNotFoundError) and not (run.path / "lock").exists():
        return RunStopped(f"{run.path} was removed under the run", "the same command begins it again")
    return RunStopped(f"{error.filename or run.path}: {error.strerror or error}")
