"""The local engine: one process a core, one thread each; every worker writes what it has finished."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from relulab.errors import WorkerDied
from relulab.lab.store import Run, write_dataset
from relulab.lab.study import Study, Unit

BEAT = 0.25  # seconds between looks at the counter
_done = None  # in a worker: the counter of seed-steps that all workers share


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
    counter, told = context.Value("q", 0), 0
    # Read by the BLAS libraries when a worker first loads them.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Largest first, so that no core ends up waiting for a long last unit.
    queue = sorted(units, key=lambda u: -u.flops)
    pool = ProcessPoolExecutor(min(workers, len(units)), context, initializer=_begin, initargs=(counter,))
    try:
        with _scripts_left_alone(study):
            pending = {pool.submit(measure_unit, study, run, unit): unit for unit in queue}
        while pending:
            finished, _ = wait(pending, BEAT, FIRST_COMPLETED)
            on_steps(counter.value - told)
            told = counter.value
            for future in finished:
                on_unit(pending.pop(future), future.result())
    except BrokenProcessPool:
        _stop(pool)
        raise WorkerDied("a worker process died, perhaps for want of memory: try fewer with --workers") from None
    except BaseException:
        _stop(pool)
        raise
    pool.shutdown()


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


def measure_unit(study: Study, run: Run, unit: Unit, tick: Callable[[int], None] | None = None) -> float:
    """One unit on one thread, in this process; the result is on disk when this returns the seconds it took."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    start = time.perf_counter()
    try:
        data = study.measure(unit, tick or _add)
        write_dataset(run.unit(unit), data)
    finally:
        torch.set_num_threads(threads)
    return time.perf_counter() - start


def _begin(counter) -> None:
    global _done
    _done = counter
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    # Ctrl-C reaches the whole group; the parent decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave_with_parent(parent: int) -> None:
    """A killed parent must not leave workers behind that go on and hold memory."""
    while os.getppid() == parent:
        time.sleep(BEAT)
    os._exit(1)


def _add(seed_steps: int) -> None:
    if _done is not None:
        with _done.get_lock():
            _done.value += seed_steps


def _stop(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)
