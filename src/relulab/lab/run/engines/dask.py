"""The dask engine: units are measured on the workers of a ``distributed`` cluster and stored by the calling process.

The cluster needs no common file system: a unit is sent as a small configuration, and its result is returned as the
bytes of its netCDF file. If a worker is lost, the scheduler gives its unit to another one, up to three times.
"""

import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from relulab.core import interrupts
from relulab.core.errors import RunStopped, UserError
from relulab.core.ranges import above, at_least
from relulab.lab.live_code import files_beside
from relulab.lab.outside_code import outside
from relulab.lab.run import lock
from relulab.lab.run.engines import LOADING, PATIENCE, TRIES, OnSteps, OnUnit, Say
from relulab.lab.run.engines.measured_unit import measured
from relulab.lab.run.engines.packed import Parcel, opened, packed, packed_study, unpacked
from relulab.lab.run.engines.scratch import remove_scratch, scratch
from relulab.lab.run.engines.script import interrupts_held, left_alone
from relulab.lab.run.engines.tls import QUIET, Tls
from relulab.lab.run.engines.unit_tick import SECONDS, unit_tick
from relulab.lab.run.environment import cores, environment
from relulab.lab.run.store import Run
from relulab.lab.study import Study, Unit

BEAT = 0.5  # seconds between two progress reports of a worker
ANSWER = 10.0  # seconds that a scheduler may take to answer
LOOPBACK = "127.0.0.1"  # other machines cannot reach it


@dataclass(frozen=True)
class Dask:
    """Measure units on a dask cluster.

    Args:
        scheduler: Address of the scheduler, such as tcp://10.0.0.1:8786. By default a local cluster is started.
        workers: Number of workers of the local cluster; by default one per core.
        patience: A worker that makes no training step for this many seconds is restarted.
        device: Device for training, such as "cpu" or "cuda:1".
        tls: The certificates for a scheduler at an address tls://….
        checkpoints: Minimum seconds between two checkpoints of a training; None for no checkpoints. A worker that
            cannot access the folder of the run makes none.
    """

    scheduler: str | None = None
    workers: int | None = None
    patience: float = PATIENCE
    device: str = "cpu"
    checkpoints: float | None = SECONDS
    tls: Tls = field(default_factory=Tls)

    def __post_init__(self) -> None:
        at_least(1, workers=self.workers)
        above(0, patience=self.patience)
        at_least(0, checkpoints=self.checkpoints)

    def crew(self, units: int) -> int:
        if self.scheduler is None:
            return min(self.workers or cores(), units)
        with _client(self.scheduler, self.tls.security(self.scheduler)) as client:
            return max(1, min(units, len(client.scheduler_info(n_workers=-1)["workers"])))

    def run(self, study: Study, run: Run, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps, say: Say) -> None:
        if not units:
            remove_scratch()  # a command that was killed after its last unit may have left a folder
            return
        parcel = packed_study(study, run.hash)
        with left_alone(), _cluster(self, len(units)) as (address, security), _client(address, security) as client:
            if not client.scheduler_info(n_workers=-1)["workers"]:
                say(f"waiting for workers at {address}: start one with dask worker {address} --nthreads 1")
                client.wait_for_workers(1)
            _same_software(client)
            _send_code(client, study)
            _Calls(client, parcel, run, self).work(units, on_unit, on_steps)


@dataclass
class _Calls:
    """The submitted units and what the workers reported about them."""

    client: Any
    parcel: Parcel
    run: Run
    engine: Dask
    messages: SimpleQueue = field(default_factory=SimpleQueue)
    steps: Counter = field(default_factory=Counter)
    idle_seconds: dict[str, float] = field(default_factory=dict)  # since the last report, for units in progress
    hangs: Counter = field(default_factory=Counter)
    ends_process: bool = False  # whether Ctrl-C ends a command, and not only a call in a notebook
    quiet_seconds: float = 0.0  # since the last report on any unit

    def work(self, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps) -> None:
        topic = f"relulab-{self.run.path.name}-{time.time_ns()}"
        self.client.subscribe_topic(topic, lambda event: self.messages.put(event[1]))
        by_name = {unit.name: unit for unit in sorted(units, key=lambda unit: -unit.flops)}
        futures = {}
        options = (self.engine.device, self.engine.checkpoints, Run(self.run.path.absolute()), self.run.holder or "")
        for name, unit in by_name.items():
            # Not pure: a scheduler must not answer from an earlier run, whose stored result may be damaged.
            key = f"{topic}-{name}"
            content = packed(unit, f"the unit {name} has")
            future = self.client.submit(_measure, self.parcel, content, topic, *options, key=key, pure=False)
            future.add_done_callback(lambda future, name=name: self.messages.put(name))
            futures[name] = future
        main = threading.current_thread() is threading.main_thread()
        # An interrupt that is raised inside a destructor of dask would be lost, so it goes through the queue.
        before = signal.signal(signal.SIGINT, self.interrupted) if main else None
        self.ends_process = before is interrupts.interrupt
        try:
            checked_at = time.monotonic()
            while futures:
                with suppress(Empty):
                    message = self.messages.get(timeout=BEAT)
                    self.quiet_seconds = 0.0
                    if message is None:
                        raise KeyboardInterrupt
                    if isinstance(message, str):
                        self.finish(by_name[message], futures.pop(message), on_unit)
                    elif message["unit"] in futures:
                        self.progress(by_name[message["unit"]], message["steps"], on_steps)
                now = time.monotonic()
                self.restart_hung(futures, min(now - checked_at, 1.0))
                checked_at = now
        finally:
            if main:
                signal.signal(signal.SIGINT, before)
            with suppress(Exception):  # the scheduler may have ended
                self.client.cancel(list(futures.values()))
            self.client.unsubscribe_topic(topic)

    def interrupted(self, *_: Any) -> None:
        """Handle Ctrl-C."""
        if self.ends_process:
            interrupts.note()
        self.messages.put(None)

    def progress(self, unit: Unit, steps: int, on_steps: OnSteps) -> None:
        """Report progress. ``steps`` counts from the start of the unit, which starts again on another worker."""
        on_steps(unit, steps - self.steps[unit.name])
        self.steps[unit.name], self.idle_seconds[unit.name] = steps, 0.0

    def finish(self, unit: Unit, future, on_unit: OnUnit) -> None:
        """Store the result of a finished unit."""
        from distributed import KilledWorker

        self.idle_seconds.pop(unit.name, None)
        if future.cancelled():
            raise RunStopped("the dask scheduler ended or canceled the run")
        while True:
            try:
                content, seconds = future.result(timeout=self.engine.patience)
                break
            except TimeoutError:  # the worker that has the result hangs: another one will measure the unit again
                self.hung(unit.name, self.client.who_has([future])[future.key])
            except KilledWorker as error:
                raise RunStopped(
                    f"the dask worker for unit {unit.name} was lost {TRIES} times (last: {error.last_worker.address}), "
                    "possibly because memory ran out"
                ) from None
        self.run.units.keep(unit, content)
        on_unit(unit, seconds)

    def restart_hung(self, futures: dict, elapsed: float) -> None:
        """Restart workers that have not reported for too long.

        A unit that has not started may have to wait for others, so it is not counted. But if no unit at all reports for
        longer than a worker needs to load, the workers that have units hang before their first step.
        """
        self.quiet_seconds += elapsed
        if self.quiet_seconds > max(self.engine.patience, LOADING):
            self.quiet_seconds = 0.0
            held = {key: address for address, keys in self.client.processing().items() for key in keys}
            for name in [name for name, future in futures.items() if future.key in held][:1]:
                self.hung(name, sorted(set(held.values())))
        for name in list(self.idle_seconds):
            self.idle_seconds[name] += elapsed
            if self.idle_seconds[name] > self.engine.patience:
                del self.idle_seconds[name]
                key = futures[name].key
                self.hung(name, [address for address, keys in self.client.processing().items() if key in keys])

    def hung(self, name: str, workers: Sequence[str]) -> None:
        """Record a hang and restart the workers."""
        self.hangs[name] += 1
        self.run.log(unit=name, lost=f"no step for {self.engine.patience:g} s", time=self.hangs[name])
        if self.hangs[name] == TRIES:
            raise RunStopped(
                f"unit {name} made no step for {self.engine.patience:g} s, {TRIES} times; if a single step takes "
                "longer, increase --patience SECONDS"
            )
        # The scheduler gives their units to other workers, so it does not matter when these come back.
        self.client.restart_workers(list(workers), timeout=60, raise_for_error=False)


def _measure(
    parcel: Parcel, content: bytes, topic: str, device: str, checkpoints: float | None, run: Run, holder: str
) -> tuple[bytes, float]:
    """Measure a unit on a worker and report its steps.

    The worker uses the folder of the run for checkpoints only if its lock file names the calling process: a folder with
    the same path on another machine may be a different one.
    """
    import dask
    from distributed import get_worker

    study, unit = opened(parcel), unpacked(content)
    worker, done, reported_at = get_worker(), 0, time.monotonic()

    def report() -> None:
        worker.log_event(topic, {"unit": unit.name, "steps": done})

    def count(steps: int) -> None:
        nonlocal done, reported_at
        done += steps
        if time.monotonic() - reported_at > BEAT:
            report()
            reported_at = time.monotonic()

    report()
    shared_run = run if holder and lock.names(run.path, holder) else None
    tick = unit_tick(count, study, unit, shared_run, seconds=checkpoints, device=device)
    # xarray would request a lock from the cluster before it encodes; it is not needed for memory of this process.
    with dask.config.set(scheduler="synchronous"):
        answer = measured(study, unit, tick, device)
    report()
    return answer


@contextmanager
def _cluster(engine: Dask, units: int) -> Iterator[tuple[str, Any]]:
    """Yield address and security of the user's scheduler, or of a cluster on this machine that ends with the block."""
    if engine.scheduler is not None:
        yield engine.scheduler, engine.tls.security(engine.scheduler)
        return
    import dask
    import distributed  # noqa: F401 - its defaults must be there before settings change, or they are lost afterward

    options = {"threads_per_worker": 1, "processes": True, "silence_logs": 50, "host": LOOPBACK, "protocol": "tls",
               "security": True, "dashboard_address": f"{LOOPBACK}:0",
               "scheduler_kwargs": {"dashboard": False}}  # fmt: skip
    settings = {"distributed.scheduler.allowed-failures": TRIES - 1, **QUIET}
    with (
        scratch() as folder,
        dask.config.set({"temporary-directory": str(folder), **settings}),
        _started(n_workers=engine.crew(units), local_directory=str(folder), **options) as cluster,
    ):
        yield cluster.scheduler_address, cluster.security


def _started(**options: Any) -> Any:
    """Start a cluster on this machine, again if a worker is lost while it starts."""
    from distributed import LocalCluster

    for _ in range(TRIES):
        with suppress(RuntimeError), interrupts_held():  # dask has closed a cluster whose worker did not start
            return LocalCluster(**options)
    raise RunStopped(f"the workers of the dask cluster on this machine did not start, {TRIES} times")


@contextmanager
def _client(address: str, security: Any) -> Iterator[Any]:
    """Connect to a scheduler."""
    from relulab.lab.run.engines.dask_client import DaskClient

    if not re.match(r"(tcp|tls|wss?|ucx|inproc)://.", address):
        raise UserError(f"--scheduler: expected an address such as tcp://10.0.0.1:8786, got {address}")
    try:
        client = DaskClient(address, timeout=ANSWER, set_as_default=False, security=security)
    except (OSError, ValueError, TimeoutError) as error:
        raise UserError(
            f"no dask scheduler answers at {address} ({error}): start one with dask scheduler, which prints its address"
        ) from None
    with client:
        yield client


def _send_code(client: Any, study: Study) -> None:
    """Send the modules beside a script or notebook that it imported to the workers. Packages must be installed there.

    A study from ``find_study("my_study.py")``, or from the script itself, carries its code with it.
    """
    if study.own_code or not outside(type(study).__module__):
        return
    files = files_beside(type(study).__module__)
    for load in (False, True):  # they may import each other, and a worker may have earlier versions of them
        for file in files:
            client.upload_file(str(file), load=load)


def _same_software(client) -> None:
    """Raise a UserError if a worker has other package versions, which may give other numbers."""
    here = environment()["packages"]
    for address, there in client.run(_packages, on_error="return").items():
        if isinstance(there, OSError):  # it was lost just now, and its successor loads the same packages
            continue
        if isinstance(there, Exception):
            raise UserError(f"the dask worker at {address} cannot import relulab ({there}): install it there")
        for name in ("relulab", "torch", "numpy"):
            if there[name] != here[name]:
                raise UserError(
                    f"the dask worker at {address} has {name} {there[name]}, but this process has {here[name]}: "
                    "install the same version"
                )


def _packages() -> dict:
    return environment()["packages"]
