"""The local engine: one supervised process a core, one thread each; every worker writes what it has finished.

A worker that dies, or does no step for long, is replaced and its unit tried again, three times at most; then the run
ends with the reason.
"""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from relulab.core.errors import RunStopped, UserError
from relulab.lab.run.engines import PATIENCE, TRIES, OnSteps, OnUnit, Say
from relulab.lab.run.engines.measured_unit import measured
from relulab.lab.run.engines.script import interrupts_held, left_alone
from relulab.lab.run.engines.unit_tick import SECONDS, unit_tick
from relulab.lab.run.environment import cores
from relulab.lab.run.store import Run
from relulab.lab.study import Study, Tick, Unit

BEAT = 0.25  # seconds between looks at the workers


@dataclass(frozen=True)
class Local:
    """Processes of this machine, one a core unless ``workers`` says how many.

    ``patience`` is how many seconds a worker may do no step before it counts as hung. One worker that was asked for
    by number is this very process, without supervision, as a debugger wants it. Trainings compute on ``device``, and
    leave a checkpoint every ``checkpoints`` seconds, from which a unit goes on if its worker is lost; None for none.
    """

    workers: int | None = None
    patience: float = PATIENCE
    device: str = "cpu"
    checkpoints: float | None = SECONDS

    def crew(self, units: int) -> int:
        return min(self.workers or cores(), units)

    def run(self, study: Study, run: Run, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps, say: Say) -> None:
        if self.workers == 1:
            for unit in units:
                tick = unit_tick(
                    partial(on_steps, unit), study, unit, run, seconds=self.checkpoints, device=self.device
                )
                content, seconds = measured(study, unit, tick)
                run.keep(unit, content)
                on_unit(unit, seconds)
        elif units:
            _Crew(study, run, self, self.crew(len(units))).work(units, on_unit, on_steps)


@dataclass
class _Worker:
    """A process, the pipe to it, the unit in its hands, and how far it is with it."""

    process: BaseProcess
    pipe: Connection
    counter: Any
    unit: Unit | None = None
    told: int = 0
    silent: float = 0.0

    def give(self, unit: Unit) -> None:
        self.unit, self.told, self.silent, self.counter.value = unit, 0, 0.0, 0
        with suppress(OSError):  # it died before its first unit: the end of its pipe will tell
            self.pipe.send(unit)

    def progress(self, elapsed: float) -> int:
        """Steps since the last look. A machine that slept is no hang, so a look counts for a second at most."""
        steps = self.counter.value - self.told
        self.told += steps
        self.silent = 0.0 if steps else self.silent + min(elapsed, 1.0)
        return steps

    def dismiss(self) -> int | None:
        """Ends the process, stopped or hung as it may be, and gives its exit code."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode


@dataclass
class _Crew:
    study: Study
    run: Run
    engine: Local
    size: int
    deaths: Counter = field(default_factory=Counter)
    context: multiprocessing.context.SpawnContext = field(default_factory=lambda: multiprocessing.get_context("spawn"))

    def work(self, units: Sequence[Unit], on_unit: OnUnit, on_steps: OnSteps) -> None:
        # Largest first, so that no core ends up waiting for a long last unit.
        queue = deque(sorted(units, key=lambda unit: -unit.flops))
        crew: list[_Worker] = []
        try:
            crew += (self.hire() for _ in range(self.size))
            looked = time.monotonic()
            while queue or any(worker.unit for worker in crew):
                for worker in crew:
                    if queue and not worker.unit:
                        worker.give(queue.popleft())
                spoke = wait([worker.pipe for worker in crew if worker.unit], BEAT)
                now = time.monotonic()
                for i, worker in enumerate(crew):
                    if not worker.unit:
                        continue
                    on_steps(worker.unit, worker.progress(now - looked))
                    lost = worker.pipe in spoke and not _finished(worker, on_unit)
                    if lost or (worker.unit and worker.silent > self.engine.patience):
                        on_steps(worker.unit, -worker.told)
                        queue.appendleft(self.lost(worker, hung=not lost))
                        crew[i] = self.hire()
                looked = now
        finally:
            for worker in crew:
                worker.dismiss()

    def hire(self) -> _Worker:
        ours, theirs = self.context.Pipe()
        counter = self.context.Value("q", 0)
        process = self.context.Process(
            target=_work, args=(os.getpid(), theirs, counter, self.study, self.run, self.engine), daemon=True
        )
        with left_alone(self.study), interrupts_held():
            process.start()
        theirs.close()  # so that the end of the worker is the end of the pipe
        return _Worker(process, ours, counter)

    def lost(self, worker: _Worker, hung: bool) -> Unit:
        """Notes a death or a hang and gives back the unit that is to be tried again."""
        unit, code = worker.unit, worker.dismiss()
        assert unit is not None
        why = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        why = f"no step for {self.engine.patience:g} s" if hung else why
        self.deaths[unit.name] += 1
        self.run.log(unit=unit.name, lost=why, time=self.deaths[unit.name])
        if self.deaths[unit.name] == TRIES:
            remedy = (
                "it hangs, or a step of it takes longer: more patience with --patience SECONDS"
                if hung
                else "perhaps for want of memory: try fewer processes with --workers"
            )
            raise RunStopped(f"the process that measured {unit.name} was lost {TRIES} times ({why}); {remedy}")
        return unit


def _finished(worker: _Worker, on_unit: OnUnit) -> bool:
    """Takes the answer of a worker; False when there is none because it died."""
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


def _work(parent: int, pipe: Connection, counter: Any, study: Study, run: Run, engine: Local) -> None:
    """What a worker does: units from the pipe, until the parent is gone."""
    threading.Thread(target=_leave_with_parent, args=(parent,), daemon=True).start()

    def count(seed_steps: int) -> None:
        counter.value += seed_steps  # this process alone writes it

    with suppress(EOFError, ConnectionError):  # nobody is left to work for
        while True:
            unit = pipe.recv()
            tick = unit_tick(count, study, unit, run, seconds=engine.checkpoints, device=engine.device)
            pipe.send(_answer(study, run, unit, tick))


def _answer(study: Study, run: Run, unit: Unit, tick: Tick) -> tuple[float, Exception | None]:
    try:
        content, seconds = measured(study, unit, tick)
        run.keep(unit, content)
        return seconds, None
    except Exception as error:
        # Only errors that surely survive the way through the pipe travel as they are.
        plain = isinstance(error, UserError | OSError)
        sent = error if plain else RuntimeError(f"in unit {unit.name}, {type(error).__name__}: {error}")
        sent.add_note(traceback.format_exc())
        return 0.0, sent


def _leave_with_parent(parent: int) -> None:
    """A killed parent must not leave workers behind that go on and hold memory."""
    while os.getppid() == parent:
        time.sleep(BEAT)
    os._exit(1)
