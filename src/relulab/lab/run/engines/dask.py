"""The dask engine: units on the workers of a ``distributed`` cluster, results written by the process that asked.

The cluster needs no common file system: a unit goes out as a small configuration and comes back as the bytes of its
netCDF file. The scheduler gives the unit of a lost worker to another one, three times at most.
"""

import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from relulab.core.errors import RunStopped, UserError
from relulab.lab.run.engines import PATIENCE, TRIES, OnSteps, OnUnit, Say
from relulab.lab.run.engines.measured_unit import measured
from relulab.lab.run.engines.script import interrupts_held, left_alone
from relulab.lab.run.engines.unit_tick import SECONDS, unit_tick
from relulab.lab.run.environment import cores, environment
from relulab.lab.run.store import Run
from relulab.lab.study import Study, Unit

BEAT = 0.5  # seconds between words of a worker
ANSWER = 10.0  # seconds that a scheduler may take to answer
LOADING = 60.0  # seconds that a worker may take before its first word, however short the patience


@dataclass(frozen=True)
class Dask:
    """The cluster behind ``scheduler``, an address such as tcp://10.0.0.1:8786, or a local one when none is given.

    ``workers`` is the size of the local one. ``patience`` as in the local engine: a worker process that does no step
    for so many seconds is restarted. ``device`` and ``checkpoints`` too; a worker that does not see the run's folder,
    for want of a common file system, makes no checkpoints.
    """

    scheduler: str | None = None
    workers: int | None = None
    patience: float = PATIENCE
    device: str = "cpu"
    checkpoints: float | None = SECONDS

    def crew(self, units: int) -> int:
        if self.scheduler is None:
            return min(self.workers or cores(), units)
        with _client(self.scheduler) as client:
            return max(1, min(units, len(client.scheduler_info(n_workers=-1)["workers"])))

    def run(self, study: Study, run: Run, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps, say: Say) -> None:
        if not units:
            return
        with left_alone(study), _cluster(self, len(units)) as address, _client(address) as client:
            if not client.scheduler_info(n_workers=-1)["workers"]:
                say(f"{address} has no workers yet: waiting for them (dask worker {address} --nthreads 1 starts one)")
                client.wait_for_workers(1)
            _same_software(client)
            _send_code(client, study)
            _Calls(client, study, run, self).work(units, on_unit, on_steps)


@dataclass
class _Calls:
    """The units that are out, and what was heard of each."""

    client: Any
    study: Study
    run: Run
    engine: Dask
    heard: SimpleQueue = field(default_factory=SimpleQueue)
    told: Counter = field(default_factory=Counter)
    silent: dict[str, float] = field(default_factory=dict)  # of units that a worker has begun
    hangs: Counter = field(default_factory=Counter)
    quiet: float = 0.0  # seconds without a word of any unit

    def work(self, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps) -> None:
        topic = f"relulab-{self.run.path.name}-{time.time_ns()}"
        self.client.subscribe_topic(topic, lambda event: self.heard.put(event[1]))
        out = {unit.name: unit for unit in sorted(units, key=lambda unit: -unit.flops)}
        futures = {}
        options = (self.engine.device, self.engine.checkpoints, Run(self.run.path.absolute()), self.run.holder or "")
        for name, unit in out.items():
            # Pure would let a scheduler answer from an earlier run: then a damaged result would come back as it was.
            key = f"{topic}-{name}"
            future = self.client.submit(_measure, self.study, unit, topic, *options, key=key, pure=False)
            future.add_done_callback(lambda future, name=name: self.heard.put(name))
            futures[name] = future
        main = threading.current_thread() is threading.main_thread()
        # Raised wherever it strikes, an interrupt may end in a destructor of dask and be lost; here it waits its turn.
        before = signal.signal(signal.SIGINT, lambda *_: self.heard.put(None)) if main else None
        try:
            looked = time.monotonic()
            while futures:
                with suppress(Empty):
                    word = self.heard.get(timeout=BEAT)
                    self.quiet = 0.0
                    if word is None:
                        raise KeyboardInterrupt
                    if isinstance(word, str):
                        self.finish(out[word], futures.pop(word), on_unit)
                    elif word["unit"] in futures:
                        self.progress(out[word["unit"]], word["steps"], on_steps)
                now = time.monotonic()
                self.look(futures, min(now - looked, 1.0))
                looked = now
        finally:
            if main:
                signal.signal(signal.SIGINT, before)
            with suppress(Exception):  # the scheduler may be gone
                self.client.cancel(list(futures.values()))
            self.client.unsubscribe_topic(topic)

    def progress(self, unit: Unit, steps: int, on_steps: OnSteps) -> None:
        """``steps`` counts from the beginning of the unit: a unit that another worker took over begins again."""
        on_steps(unit, steps - self.told[unit.name])
        self.told[unit.name], self.silent[unit.name] = steps, 0.0

    def finish(self, unit: Unit, future, on_unit: OnUnit) -> None:
        from distributed import KilledWorker

        self.silent.pop(unit.name, None)
        if future.cancelled():
            raise RunStopped("the dask scheduler is gone, or it dropped the run")
        while True:
            try:
                content, seconds = future.result(timeout=self.engine.patience)
                break
            except TimeoutError:  # the worker hangs with the result in its memory; another will measure it anew
                self.hung(unit.name, self.client.who_has([future])[future.key])
            except KilledWorker as error:
                raise RunStopped(
                    f"the dask workers that measured {unit.name} were lost {TRIES} times, the last at "
                    f"{error.last_worker.address}, perhaps for want of memory"
                ) from None
        self.run.keep(unit, content)
        on_unit(unit, seconds)

    def look(self, futures: dict, elapsed: float) -> None:
        """Has workers restarted that were silent for too long.

        A unit that is not begun may have to wait for another, so it is not counted by itself. But where no unit says a
        word, for as long as it takes a worker to load, those that hold units hang before their first step.
        """
        self.quiet += elapsed
        if self.quiet > max(self.engine.patience, LOADING):
            self.quiet = 0.0
            held = {key: address for address, keys in self.client.processing().items() for key in keys}
            for name in [name for name, future in futures.items() if future.key in held][:1]:
                self.hung(name, sorted(set(held.values())))
        for name in list(self.silent):
            self.silent[name] += elapsed
            if self.silent[name] > self.engine.patience:
                del self.silent[name]
                key = futures[name].key
                self.hung(name, [address for address, keys in self.client.processing().items() if key in keys])

    def hung(self, name: str, workers: Sequence[str]) -> None:
        self.hangs[name] += 1
        self.run.log(unit=name, lost=f"no step for {self.engine.patience:g} s", time=self.hangs[name])
        if self.hangs[name] == TRIES:
            raise RunStopped(f"{name} did no step for {self.engine.patience:g} s, {TRIES} times: see --patience")
        # The scheduler gives what they had to others; whether they come back in time is no matter.
        self.client.restart_workers(list(workers), timeout=60, raise_for_error=False)


def _measure(
    study: Study, unit: Unit, topic: str, device: str, checkpoints: float | None, run: Run, holder: str
) -> tuple[bytes, float]:
    """On a worker: the unit, with a word about its steps now and then.

    The folder of the run, if the worker sees one of that name, is the one that was meant if the same process holds it.
    """
    import dask
    from distributed import get_worker

    worker, done, spoke = get_worker(), 0, time.monotonic()

    def say() -> None:
        worker.log_event(topic, {"unit": unit.name, "steps": done})

    def count(steps: int) -> None:
        nonlocal done, spoke
        done += steps
        if time.monotonic() - spoke > BEAT:
            say()
            spoke = time.monotonic()

    say()
    seen = run if holder and run.marked(holder) else None
    tick = unit_tick(count, study, unit, seen, seconds=checkpoints, device=device)
    # xarray would ask the cluster for a lock before it encodes; nobody else writes to this memory.
    with dask.config.set(scheduler="synchronous"):
        answer = measured(study, unit, tick)
    say()
    return answer


@contextmanager
def _cluster(engine: Dask, units: int) -> Iterator[str]:
    """The address of the user's scheduler, or of a cluster on this machine for as long as it is needed."""
    if engine.scheduler is not None:
        yield engine.scheduler
        return
    import dask
    from distributed import LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "silence_logs": 50}
    with dask.config.set({"distributed.scheduler.allowed-failures": TRIES - 1}):
        with interrupts_held():
            cluster = LocalCluster(n_workers=engine.crew(units), **options)
        with cluster:
            yield cluster.scheduler_address


@contextmanager
def _client(address: str) -> Iterator[Any]:
    from distributed import Client

    if not re.match(r"(tcp|tls|wss?|ucx|inproc)://.", address):
        raise UserError(f"--scheduler {address}: an address looks like tcp://10.0.0.1:8786")
    try:
        client = Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UserError(
            f"no dask scheduler answers at {address} ({error}): `dask scheduler` starts one and says its address"
        ) from None
    with client:
        yield client


def _send_code(client: Any, study: Study) -> None:
    """A study in a file of a user's own goes to the workers as that file; modules of packages are installed there."""
    module = sys.modules.get(type(study).__module__)
    file = getattr(module, "__file__", None)
    if file and module.__name__ != "__main__" and not module.__package__:  # type: ignore[union-attr]
        client.upload_file(file)


def _same_software(client) -> None:
    """Numbers of another version of relulab or torch would pass for those of this one."""
    here = environment()["packages"]
    for address, there in client.run(_packages, on_error="return").items():
        if isinstance(there, Exception):
            raise UserError(f"the dask worker {address} cannot import relulab ({there}): install it there")
        for name in ("relulab", "torch", "numpy"):
            if there[name] != here[name]:
                raise UserError(
                    f"the dask worker {address} has {name} {there[name]}, this process {here[name]}: install the same"
                )


def _packages() -> dict:
    return environment()["packages"]
