"""Thousands of hostile files and run folders, each read in a process with 1 GB more memory than it has and 10 seconds.

Run ``python tests/hostile_files.py`` for the whole table, or ``python tests/hostile_files.py 20`` for a smaller one;
tests/io/test_bombs.py reads a few of each kind.
"""

import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from hostile import network_files, program_files, run_folders, table_files  # noqa: F401
from hostile.limits import KINDS, outcome
from hostile.program_files import programs

from relulab import load

EACH = 100  # cases of a kind with share 1


def ended(name: str, number: int, top: Path) -> list[str]:
    """Make a case, read it, and return how that ended and what harm was done."""
    make, reader, _ = KINDS[name]
    folder = top / f"{name.replace(' ', '-')}-{number}"
    folder.mkdir()
    path = make(folder, random.Random(number))
    if path.suffix == ".pt2":
        load(programs(top))  # so that the process for programs lives before the fork
    ends = [outcome(reader, path)]
    if (folder / "executed").exists():
        ends.append("EXECUTED")
    if reader is run_folders.commands and (harm := run_folders.harmed(folder)):
        ends.append(harm)
    shutil.rmtree(folder)
    return ends


def main(each: int, wanted: str = "") -> int:
    """Read cases of every kind and print a table; the exit code is 1 if any ends as it should not."""
    bad = total = 0
    with tempfile.TemporaryDirectory() as top:
        load(programs(Path(top)))  # starts the process in which programs are tried
        for name, (_, _, share) in KINDS.items():
            if wanted not in name:
                continue
            ends: Counter[str] = Counter()
            for number in range(max(1, round(each * share))):
                found = ended(name, number, Path(top))
                ends.update(found)
                total += 1
                if wrong := [end for end in found if end not in ("read", "refused")]:
                    bad += 1
                    print(f"  {name}, number {number}: {', '.join(wrong)}", flush=True)
            others = sum(count for end, count in ends.items() if end not in ("read", "refused"))
            print(f"{name:44} read {ends['read']:4}, refused {ends['refused']:4}, otherwise {others}", flush=True)
    shutil.rmtree(run_folders.finished())
    print(f"{total} files and folders, {bad} ended as they should not")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else EACH, *sys.argv[2:3]))
