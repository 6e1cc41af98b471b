"""The local engine: one supervised process with one thread per core. Workers store the units they finish.

A worker that dies, or makes no training step for too long, is replaced and its unit is tried again. After three
attempts the run stops with an error.
"""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from relulab.core.errors import RunStopped, UserError
from relulab.core.ranges import above, at_least
from relulab.lab.outside_code import outside
from relulab.lab.run.engines import LOADING, PATIENCE, TRIES, OnSteps, OnUnit, Say
from relulab.lab.run.engines.measured_unit import measured
from relulab.lab.run.engines.packed import NotSent, OtherCode, Parcel, opened, packed, packed_study, unpacked
from relulab.lab.run.engines.script import interrupts_held, left_alone
from relulab.lab.run.engines.unit_tick import SECONDS, unit_tick
from relulab.lab.run.environment import cores
from relulab.lab.run.store import Run
from relulab.lab.study import Study, Unit

BEAT = 0.25  # seconds between two checks of the workers


@dataclass(frozen=True)
class Local:
    """Measure units in processes on this machine.

    Args:
        workers: Number of worker processes; by default one per core. With 1, the units are measured in this process
            without supervision, which suits a debugger.
        patience: A worker that makes no training step for this many seconds is restarted.
        device: Device for training, such as "cpu" or "cuda:1".
        checkpoints: Minimum seconds between two checkpoints of a training, from which a unit continues if its worker
            is lost; None for no checkpoints.
    """

    workers: int | None = None
    patience: float = PATIENCE
    device: str = "cpu"
    checkpoints: float | None = SECONDS

    def __post_init__(self) -> None:
        at_least(1, workers=self.workers)
        above(0, patience=self.patience)
        at_least(0, checkpoints=self.checkpoints)

    def crew(self, units: int) -> int:
        return min(self.workers or cores(), units)

    def run(self, study: Study, run: Run, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps, say: Say) -> None:
        if self.workers == 1 or not units:
            return self._here(study, run, units, on_unit, on_steps)
        try:
            _Crew(packed_study(study, run.hash), run, self, self.crew(len(units))).work(units, on_unit, on_steps)
        except (NotSent, OtherCode) as reason:
            if study.own_code or not outside(type(study).__module__):  # its code is known, so this is a mistake
                raise
            say(f"{reason}; until then its units are measured in this process, one after another")
            run.log(in_this_process=str(reason))
            self._here(study, run, [unit for unit in units if not run.units.has(unit)], on_unit, on_steps)

    def _here(self, study: Study, run: Run, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps) -> None:
        """Measure units in this process."""
        for unit in units:
            tick = unit_tick(partial(on_steps, unit), study, unit, run, seconds=self.checkpoints, device=self.device)
            content, seconds = measured(study, unit, tick, self.device)
            run.units.keep(unit, content)
            on_unit(unit, seconds)


@dataclass
class _Worker:
    """A worker process, the pipe to it, its current unit, and the progress of that unit."""

    process: BaseProcess
    pipe: Connection
    counter: Any
    unit: Unit | None = None
    steps: int = 0
    idle_seconds: float = 0.0
    loaded: bool = False

    def patience(self, patience: float) -> float:
        """Return how long it may make no step. Before its first step it loads PyTorch, which may take longer."""
        return patience if self.loaded else max(patience, LOADING)

    def give(self, unit: Unit) -> None:
        self.unit, self.steps, self.idle_seconds, self.counter.value = unit, 0, 0.0, 0
        with suppress(OSError):  # it died before its first unit, which the closed pipe will show
            self.pipe.send_bytes(packed(unit, f"the unit {unit.name} has"))

    def progress(self, elapsed: float) -> int:
        """Return the steps since the last check.

        Each check counts as at most one idle second, so that a machine that was asleep does not look like a hang.
        """
        new_steps = self.counter.value - self.steps
        self.steps += new_steps
        self.loaded = self.loaded or new_steps > 0
        self.idle_seconds = 0.0 if new_steps else self.idle_seconds + min(elapsed, 1.0)
        return new_steps

    def dismiss(self) -> int | None:
        """End the process, even if it is stopped or hung, and return its exit code."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode


@dataclass
class _Crew:
    """The worker processes of a run."""

    parcel: Parcel
    run: Run
    engine: Local
    size: int
    deaths: Counter = field(default_factory=Counter)
    context: multiprocessing.context.SpawnContext = field(default_factory=lambda: multiprocessing.get_context("spawn"))

    def work(self, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps) -> None:
        # Largest first, so that no core waits for a long last unit at the end.
        queue = deque(sorted(units, key=lambda unit: -unit.flops))
        crew: list[_Worker] = []
        try:
            crew += (self.hire() for _ in range(self.size))
            checked_at = time.monotonic()
            while queue or any(worker.unit for worker in crew):
                for worker in crew:
                    if queue and not worker.unit:
                        worker.give(queue.popleft())
                ready = wait([worker.pipe for worker in crew if worker.unit], BEAT)
                now = time.monotonic()
                for i, worker in enumerate(crew):
                    if not worker.unit:
                        continue
                    on_steps(worker.unit, worker.progress(now - checked_at))
                    lost = worker.pipe in ready and not _finished(worker, on_unit)
                    if lost or (worker.unit and worker.idle_seconds > worker.patience(self.engine.patience)):
                        on_steps(worker.unit, -worker.steps)
                        queue.appendleft(self.lost(worker, hung=not lost))
                        crew[i] = self.hire()
                checked_at = now
        finally:
            for worker in crew:
                worker.dismiss()

    def hire(self) -> _Worker:
        pipe, worker_pipe = self.context.Pipe()
        counter = self.context.RawValue("q", 0)  # a lock would stay locked if the worker is killed while it counts
        process = self.context.Process(
            target=_work,
            args=(os.getpid(), worker_pipe, counter, self.parcel, self.run, self.engine),
            daemon=True,
        )
        with left_alone(), interrupts_held():
            process.start()
        worker_pipe.close()  # so that the pipe closes when the worker ends
        return _Worker(process, pipe, counter)

    def lost(self, worker: _Worker, hung: bool) -> Unit:
        """Record a lost worker and return its unit, which is to be tried again."""
        unit, code = worker.unit, worker.dismiss()
        assert unit is not None
        reason = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        reason = f"no step for {worker.patience(self.engine.patience):g} s" if hung else reason
        self.deaths[unit.name] += 1
        self.run.log(unit=unit.name, lost=reason, time=self.deaths[unit.name])
        if self.deaths[unit.name] == TRIES:
            remedy = (
                "if a single step takes longer, increase --patience SECONDS"
                if hung
                else "if memory ran out, use fewer processes with --workers N"
            )
            raise RunStopped(f"the worker process for unit {unit.name} was lost {TRIES} times ({reason}); {remedy}")
        return unit


def _finished(worker: _Worker, on_unit: OnUnit) -> bool:
    """Receive the answer of a worker; return False if there is none because it died."""
    try:
        seconds, error = worker.pipe.recv()
    except (EOFError, OSError):
        return False
    if error is not None:
        raise error
    unit, worker.unit = worker.unit, None
    assert unit is not None
    on_unit(unit, seconds)
    return True


def _work(parent: int, pipe: Connection, counter: Any, parcel: Parcel, run: Run, engine: Local) -> None:
    """Run a worker: measure the units from the pipe until the parent ends."""
    threading.Thread(target=_leave_with_parent, args=(parent,), daemon=True).start()

    def count(seed_steps: int) -> None:
        counter.value += seed_steps  # only this process writes it

    with suppress(EOFError, ConnectionError):  # the parent has ended
        while True:
            content = pipe.recv_bytes()
            pipe.send(_answer(parcel, run, content, count, engine))


def _answer(
    parcel: Parcel, run: Run, content: bytes, count: Callable[[int], None], engine: Local
) -> tuple[float, Exception | None]:
    """Measure and store a unit, and return the seconds it took and the error if it failed."""
    name = "?"
    try:
        study, unit = opened(parcel), unpacked(content)
        name = unit.name
        tick = unit_tick(count, study, unit, run, seconds=engine.checkpoints, device=engine.device)
        result, seconds = measured(study, unit, tick, engine.device)
        run.units.keep(unit, result)
        return seconds, None
    except Exception as error:
        sent = _sendable(error, name)
        sent.add_note(traceback.format_exc())
        return 0.0, sent


def _sendable(error: Exception, unit: str) -> Exception:
    """Return an error that the parent can certainly load: an error class from a script exists only there."""
    if isinstance(error, UserError):
        return error if not outside(type(error).__module__) else UserError(str(error))
    if isinstance(error, OSError) and type(error).__module__ == "builtins":
        return error
    return RuntimeError(f"in unit {unit}, {type(error).__name__}: {error}")


def _leave_with_parent(parent: int) -> None:
    """End this worker when its parent is killed, so that it does not go on and use memory."""
    while os.getppid() == parent:
        time.sleep(BEAT)
    os._exit(1)
