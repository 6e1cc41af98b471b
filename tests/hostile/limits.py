"""Read a file or a folder in a process with 1 GB more memory than it has and 10 seconds, and say how that ends."""

import os
import random
import resource
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

import torch

from relulab import UserError

SECONDS, MEMORY = 10, 1_000_000_000
Maker = Callable[[Path, random.Random], Path]
KINDS: dict[str, tuple[Maker, Callable[[Path], object], float]] = {}


def kind(reader: Callable[[Path], object], share: float = 1.0):
    """Adds a kind of files. ``share`` is less than 1 for files that take long to make, and more for the most varied."""

    def add(make: Maker) -> Maker:
        KINDS[make.__name__.replace("_", " ")] = (make, reader, share)
        return make

    return add


def outcome(reader: Callable[[Path], object], path: Path) -> str:
    """What reading a file ends in: "read", "refused", or what should not be."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        with os.fdopen(into, "w") as pipe:
            pipe.write(_read(reader, path))
            pipe.flush()
            os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        words = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "hangs" if name == "SIGALRM" else f"crash by {name}"
    return words or "crash"


def _read(reader: Callable[[Path], object], path: Path) -> str:
    torch.set_num_threads(1)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    try:
        reader(path)
        return "read"
    except UserError as error:
        said = str(error)
        return (
            "refused"
            if "\n" not in said and said.isprintable() and len(said) < 1500
            else f"not a sentence: {said[:200]!r}"
        )
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}"
