"""Whole runs with thousands of trivial units: what each unit costs, joining them, and resuming with one missing.

Run by ``make benchmark``, or as ``python benchmarks/many_units.py 1000 3000 10000``. Each run is a process of its own.
The times are linear in the number of units if the cost per further unit is the same between any two sizes. A line
through the times is extrapolated to 100,000 units.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

SIZES = (1000, 3000, 10_000)
STUDY = '''
"""A study of trivial units."""

import xarray as xr

import relulab as rl


class Trivial(rl.Study):
    """Each unit returns its number."""

    name = "trivial"
    ids = ("mine.trivial",)
    title = "Trivial"
    source = "a benchmark"
    presets = {"smoke": {"count": 2}, "quick": {"count": 4}}
    count: int = 10
    """number of units"""

    def units(self):
        return [rl.Unit(f"u{i}", {"i": i}, seed_steps=1, flops=1.0) for i in range(self.count)]

    def measure(self, unit, tick):
        return xr.Dataset({"value": ("i", [float(unit.values["i"])])}, {"i": [unit.values["i"]]})

    def figures(self, result):
        figure, axes = rl.panels(1, 1, width=4)
        axes[0, 0].plot(result.i, result.value)
        return {"value": figure}

    def claims(self, result):
        return []
'''
CODE = """
import json, resource, sys, time
from pathlib import Path
from relulab.lab.run import unit_store
from relulab import find_study, run_study, Local

spent = {}
def timed(name, function):
    def inner(*arguments, **options):
        start = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            spent[name] = spent.get(name, 0) + time.perf_counter() - start
    return inner
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
unit_store.UnitStore.joined = timed("join", unit_store.UnitStore.joined)
study = find_study("trivial.py")(count=int(sys.argv[1]))
study.hash
import relulab.lab.run.job, relulab.lab.run.engines.local
before, start = peak(), time.perf_counter()
run_study(study, preset="quick", engine=Local(workers=int(sys.argv[2])), progress=False)
print(json.dumps({"whole": time.perf_counter() - start, "peak": peak(), "grown": peak() - before, **spent}))
"""


def measured(folder: Path, count: int, workers: int) -> Mapping[str, float]:
    """Run the study, in a process of its own, and return its seconds and gigabytes."""
    words = [sys.executable, "-c", CODE, str(count), str(workers)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or SIZES
    table = []
    print("units   run (s)   join (s)   one missing (s)   finished (s)   peak (GB)   grown (GB)")
    for count in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "trivial.py").write_text(STUDY)
            first = measured(folder, count, workers=2)
            for lost in ("units/u0.safetensors", "manifest.json"):  # without a manifest, a run is not finished
                next(folder.glob(f"runs/*/*/{lost}")).unlink()
            resumed = measured(folder, count, workers=1)
            again = measured(folder, count, workers=1)
        peak, grown = (max(first[key], resumed[key]) for key in ("peak", "grown"))
        table.append((first["whole"], first["join"], resumed["whole"], again["whole"]))
        print(
            f"{count:6d} {first['whole']:8.1f} {first['join']:10.2f} {resumed['whole']:15.2f} {again['whole']:14.2f} "
            f"{peak:11.2f} {grown:12.2f}",
            flush=True,
        )
    if len(sizes) > 2:
        for name, seconds in zip(("run", "join", "one missing"), zip(*table, strict=True), strict=False):
            each = ", ".join(f"{1000 * slope:.2f}" for slope in np.diff(seconds) / np.diff(sizes))
            slope, start = np.polyfit(sizes, seconds, 1)
            print(f"{name}: {each} ms per further unit; 100,000 units would take {start + 1e5 * slope:.0f} s")


if __name__ == "__main__":
    main()
