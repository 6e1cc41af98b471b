"""How long a user waits for a mistake to be reported, and for the answer of a finished run.

Run by ``make benchmark``. Each command is a process of its own, as a user would start it; the best of five counts. The
time to import PyTorch is shown for comparison: none of these commands should need it.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAIN = "from relulab.lab.cli import main; main()"
FINISHED = "run SS.F7 --preset smoke"
MISTAKES = (
    "measure correlation missing.pt b.pt --data x.npz",
    "measure separability t.csv --label",
    "measure separability t.csv --out x.xyz",
    "prune net.pt --data missing.npz",
    "check SS.L1 --teacher missing --student b.pt --data x.npz",
    "run SS.F7 --set sedes=3",
    "run SS.F7 --preset quik",
)
TIMES = 5


def show(folder: Path, bound: float | None, what: str, *words: str) -> None:
    """Print the best time of a command, or of Python code."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}  # as after the first command of a user
    best = best_processor = float("inf")
    for _ in range(TIMES + 1):
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        code = MAIN if words else what
        subprocess.run([sys.executable, "-c", code, *words], cwd=folder, env=environment, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, time.perf_counter() - start)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best_processor = min(best_processor, spent)
    limit = f" (at most {bound} s)" if bound else ""
    print(f"{best:.2f} s, processor {best_processor:.2f} s  {what}{limit}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-c", MAIN, *FINISHED.split()], cwd=folder, capture_output=True)
        show(folder, None, "import torch")
        for words in MISTAKES:
            show(folder, 0.7, f"relulab {words}", *words.split())
        show(folder, 1.0, f"relulab {FINISHED}, finished", *FINISHED.split())
        show(folder, 1.0, "import relulab as rl; rl.run_study('SS.F7', preset='smoke')  # finished")


if __name__ == "__main__":
    main()
