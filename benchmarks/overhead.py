"""What the store and the progress cost: their share of the process time of SS.F7 on ``quick``.

Run by ``make benchmark``. Everything happens in this process, so process time counts all of it: training, writing
units with checksums, status, log and progress. The clock of the store runs while any of its functions is on the stack.
"""

import sys
import tempfile
import time
from functools import wraps
from pathlib import Path

from relulab import Local, find_study, run_study
from relulab.lab.run.engines import measured_unit
from relulab.lab.run.job import Job
from relulab.lab.run.store import Run
from relulab.lab.run.watchers import Silent

BOUND = 0.03


class Clock:
    """Process time spent inside any of the functions that it was put on."""

    def __init__(self):
        self.spent, self.depth = 0.0, 0

    def put_on(self, owner: object, *names: str) -> None:
        for name in names:
            setattr(owner, name, self.timed(getattr(owner, name)))

    def timed(self, function):
        @wraps(function)
        def inner(*args, **kwargs):
            begun, self.depth = time.process_time(), self.depth + 1
            try:
                return function(*args, **kwargs)
            finally:
                self.depth -= 1
                if not self.depth:
                    self.spent += time.process_time() - begun

        return inner


def main() -> None:
    clock = Clock()
    clock.put_on(measured_unit, "encode")
    clock.put_on(Run, "keep", "has", "log", "prepare")
    clock.put_on(Job, "on_unit", "on_steps", "status", "report")
    changes = {"epochs": int(sys.argv[1])} if len(sys.argv) > 1 else {}
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        run_study(
            find_study("SS.F7").configured("quick", changes), runs=Path(folder), engine=Local(1), watcher=Silent()
        )
        whole = time.process_time() - begun
    print(f"store and progress: {clock.spent:.2f} s of {whole:.1f} s, {clock.spent / whole:.2%} (at most {BOUND:.0%})")


if __name__ == "__main__":
    main()
