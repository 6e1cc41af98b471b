"""The local engine: one supervised process a core, one thread each; every worker writes what it has finished.

A worker that dies is replaced and its unit tried again, three times at most; then the run ends with the reason.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from relulab.errors import WorkerDied
from relulab.lab.store import Run
from relulab.lab.study import Study, Unit

BEAT = 0.25  # seconds between looks at the counter
TRIES = 3  # of a unit whose worker dies


@dataclass
class Worker:
    """A process, the pipe to it, and the unit in its hands."""

    process: BaseProcess
    pipe: Connection
    unit: Unit | None = None

    def give(self, unit: Unit) -> None:
        self.unit = unit
        self.pipe.send(unit)

    def dismiss(self) -> int | None:
        """Ends the process and gives its exit code."""
        self.process.terminate()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode


def run_units(
    study: Study,
    run: Run,
    units: Sequence[Unit],
    workers: int,
    on_unit: Callable[[Unit, float], None],
    on_steps: Callable[[int], None],
) -> None:
    """Measures ``units`` and leaves each in the run's folder; tells units (with their seconds) and seed-steps done."""
    if min(workers, len(units)) <= 1:
        for unit in units:
            on_unit(unit, measure_unit(study, run, unit, on_steps))
        return
    context = multiprocessing.get_context("spawn")
    counter, told, deaths = context.Value("q", 0), 0, Counter()
    # Largest first, so that no core ends up waiting for a long last unit.
    queue = deque(sorted(units, key=lambda unit: -unit.flops))
    crew = [_hire(context, study, run, counter) for _ in range(min(workers, len(units)))]
    try:
        while queue or any(worker.unit for worker in crew):
            for worker in crew:
                if queue and not worker.unit:
                    worker.give(queue.popleft())
            spoke = wait([worker.pipe for worker in crew if worker.unit], BEAT)
            on_steps(counter.value - told)
            told = counter.value
            for i, worker in enumerate(crew):
                if worker.pipe in spoke and not _finished(worker, on_unit):
                    queue.appendleft(_died(worker, run, deaths))
                    crew[i] = _hire(context, study, run, counter)
    finally:
        for worker in crew:
            worker.dismiss()


def _hire(context, study: Study, run: Run, counter) -> Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(os.getpid(), theirs, counter, study, run), daemon=True)
    with _scripts_left_alone(study):
        process.start()
    theirs.close()  # so that the end of the worker is the end of the pipe
    return Worker(process, ours)


def _finished(worker: Worker, on_unit: Callable[[Unit, float], None]) -> bool:
    """Takes the answer of a worker; False when there is none because it died."""
    try:
        seconds, error = worker.pipe.recv()
    except (EOFError, OSError):
        return False
    if error is not None:
        raise error
    unit, worker.unit = worker.unit, None
    on_unit(unit, seconds)
    return True


def _died(worker: Worker, run: Run, deaths: Counter) -> Unit:
    """Notes a death and gives back the unit that is to be tried again."""
    unit, code = worker.unit, worker.dismiss()
    why = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
    deaths[unit.name] += 1
    run.log(unit=unit.name, died=why, time=deaths[unit.name])
    if deaths[unit.name] == TRIES:
        raise WorkerDied(
            f"the process that measured {unit.name} ended {TRIES} times ({why}), perhaps for want of memory: try fewer "
            "processes with --workers"
        )
    return unit


def _work(parent: int, pipe: Connection, counter, study: Study, run: Run) -> None:
    """What a worker does: units from the pipe, until the parent is gone."""
    # Ctrl-C reaches the whole group; the parent decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, args=(parent,), daemon=True).start()

    def tick(seed_steps: int) -> None:
        with counter.get_lock():
            counter.value += seed_steps

    with suppress(EOFError, ConnectionError):  # nobody is left to work for
        while True:
            pipe.send(_answer(study, run, pipe.recv(), tick))


def _answer(study: Study, run: Run, unit: Unit, tick: Callable[[int], None]) -> tuple[float, Exception | None]:
    try:
        return measure_unit(study, run, unit, tick), None
    except Exception as error:
        error.add_note(traceback.format_exc())
        return 0.0, error


def _leave_with_parent(parent: int) -> None:
    """A killed parent must not leave workers behind that go on and hold memory."""
    while os.getppid() == parent:
        time.sleep(BEAT)
    os._exit(1)


def measure_unit(study: Study, run: Run, unit: Unit, tick: Callable[[int], None]) -> float:
    """One unit on one thread, in this process; the result is on disk when this returns the seconds it took."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    start = time.perf_counter()
    try:
        run.keep(unit, study.measure(unit, tick))
    finally:
        torch.set_num_threads(threads)
    return time.perf_counter() - start


@contextmanager
def _scripts_left_alone(study: Study) -> Iterator[None]:
    """Workers start without importing the user's script again, so that it needs no ``if __name__ == "__main__"``.

    A study that is defined in the script itself can only be found there: then the script needs the guard.
    """
    main = sys.modules["__main__"]
    hidden = {} if type(study).__module__ == "__main__" else {k: main.__dict__.get(k) for k in ("__file__", "__spec__")}
    main.__dict__.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        main.__dict__.update({k: v for k, v in hidden.items() if v is not None})
