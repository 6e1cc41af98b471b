"""The commands of tests/signal_rounds.py: small studies of three subjects, on every engine."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import psutil

STUDIES = (
    ("SS.F7", "--set", "seeds=4", "--set", "steps=100"),
    ("IB.F1", "--set", "seeds=4", "--set", "lanes=1", "--set", "epochs=10"),
    ("T5.F3",),
)
ENGINES = ("local, this process", "local, 2 workers", "dask, own cluster", "dask, by tcp", "dask, by tls")
ALONE = ENGINES[0]
START = 300  # the longest start of a cluster, in seconds


@dataclass
class Cluster:
    """A scheduler with two workers that no round starts or ends."""

    options: tuple[str, ...]
    keeper: psutil.Process | None = None  # of the workers, which it starts again
    free: Any = field(default_factory=nullcontext)  # held by the round that uses the workers

    def workers(self) -> list[psutil.Process]:
        return workers_of(self.keeper) if self.keeper else []


def workers_of(parent: psutil.Process) -> list[psutil.Process]:
    """The processes that multiprocessing has started for work; its resource tracker is none."""
    found = []
    try:
        for child in parent.children(recursive=True):
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    except psutil.Error:
        pass
    return found


def words(study: tuple[str, ...], options: tuple[str, ...]) -> list[str]:
    """The words after ``relulab``."""
    return ["run", *study, "--preset", "smoke", "--json", *options]


@contextmanager
def clusters(folder: Path) -> Iterator[dict[str, Cluster]]:
    """The options of each engine, and schedulers for those that have an address."""
    folder.mkdir()
    started: list[subprocess.Popen] = []
    try:
        yield {
            ALONE: Cluster(("--workers", "1")),
            ENGINES[1]: Cluster(("--workers", "2")),
            ENGINES[2]: Cluster(("--engine", "dask", "--workers", "2")),
            ENGINES[3]: _started(folder / "tcp", started, ()),
            ENGINES[4]: _started(folder / "tls", started, _certificates(folder)),
        }
    finally:
        for process in reversed(started):
            family = [*psutil.Process(process.pid).children(recursive=True), process]
            for each in family:
                each.kill()
            process.wait()


def _started(place: Path, started: list[subprocess.Popen], tls: tuple[str, ...]) -> Cluster:
    place.mkdir()
    file = place / "scheduler.json"
    here = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file), *tls)
    started.append(_dask(place, "scheduler", "--port", "0", *here, *(("--protocol", "tls") if tls else ())))
    _until(file.exists)
    address = json.loads(file.read_text())["address"]
    more = ("--nworkers", "2", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard", *tls)
    started.append(_dask(place, "worker", address, *more))
    made = Cluster(("--scheduler", address, *tls), psutil.Process(started[-1].pid), Lock())
    _until(lambda: len(made.workers()) == 2)
    return made


def _dask(place: Path, *arguments: str) -> subprocess.Popen:
    with (place / f"{arguments[0]}.log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            cwd=place, stdout=log, stderr=log, start_new_session=True, env={**os.environ, "TMPDIR": str(place)},
        )  # fmt: skip


def _certificates(folder: Path) -> tuple[str, ...]:
    """The options that name the certificates, which are the same for dask and for relulab."""
    from distributed.security import Security

    made = Security.temporary()
    contents = {"ca-file": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    for name, content in contents.items():
        (folder / f"{name}.pem").write_text(content)
    return tuple(word for name in contents for word in (f"--tls-{name}", str(folder / f"{name}.pem")))


def _until(reached) -> None:
    end = time.monotonic() + START
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError("the cluster does not start")
        time.sleep(0.1)
