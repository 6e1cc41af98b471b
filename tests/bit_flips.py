"""A thousand single-bit flips over all files of a run: each is noticed or harmless, shown in a table.

Run ``python tests/bit_flips.py``. A flip is *noticed* if the same command says that something is missing or changed and
makes it again, with the same bytes as before, or says that the folder is no run any more because its marker is damaged.
It is *harmless* if the run answers as before without the file, because
the file is not part of the answer (the log, the progress) or does not use that bit. Anything else is *silent*.
"""

import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from relulab import Local, UserError, find_study, run_study
from relulab.lab.run.store import Run
from relulab.lab.run.watchers import Silent

FLIPS = 1000
ANSWER = ("claims.json", "config.json", "result.nc", "figures.json", "relulab-run.json")
STUDY = find_study("SS.F7").configured("smoke", {"steps": 10})


class Told(Silent):
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def say(self, text: str) -> None:
        self.words.append(text)


def answered(root: Path, redraw: bool = False) -> tuple[dict, list[str]]:
    """Run the study; return its answer, and what it said."""
    told = Told()
    summary = run_study(STUDY, preset="smoke", runs=root, engine=Local(1), watcher=told, redraw=redraw)
    run = Run.of(STUDY, "smoke", root)
    pictures = {f"figures/{path.name}" for path in (run.path / "figures").iterdir()}
    contents = {name: (run.path / name).read_bytes() for name in {*ANSWER, *pictures}}
    return {"claims": summary["claims"], **contents}, told.words


def flipped(path: Path, dice: random.Random) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    bit = dice.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def outcome(root: Path, name: str, expected: dict, undamaged: dict[str, bytes]) -> str:
    """How a run with a flipped bit in a file answers."""
    run = Run.of(STUDY, "smoke", root)
    damaged, changed = run.damages, (run.path / name).read_bytes()
    # The files of units are only read when something is made again, so a flip in one is looked for then.
    unit = name.startswith("units/")
    measured = unit and run.units.has(
        next(unit for unit in STUDY.units() if name == f"units/{run.units.file(unit).name}")
    )
    try:
        answer, words = answered(root, redraw=unit)
    except UserError as error:
        return "noticed" if "missing or damaged" in str(error) or "has schema" in str(error) else f"refused: {error}"
    except Exception as error:
        return f"error: {type(error).__name__}"
    if answer != expected:
        return "silent"
    repaired = (run.path / name).read_bytes() != changed
    if unit:
        return "harmless" if measured else "noticed" if repaired else "silent"
    if damaged:
        return "noticed" if repaired and any(name in said for said in words) else "silent"
    return "harmless"


def main(flips: int) -> int:
    """Flip bits of all files in turn and print a table; the exit code is 1 if a flip was silent."""
    dice, table = random.Random(0), {}
    with tempfile.TemporaryDirectory() as top:
        root = Path(top) / "runs"
        expected, _ = answered(root)
        run = Run.of(STUDY, "smoke", root).path
        files = sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file() and path.stat().st_size)
        undamaged = {name: (run / name).read_bytes() for name in files}
        for number in range(flips):
            name = files[number % len(files)]
            flipped(run / name, dice)
            table.setdefault(name, Counter())[outcome(root, name, expected, undamaged)] += 1
            if number % 50 == 49:
                print(f"{number + 1} of {flips}", file=sys.stderr, flush=True)
            shutil.rmtree(run)
            for each, content in undamaged.items():
                (run / each).parent.mkdir(parents=True, exist_ok=True)
                (run / each).write_bytes(content)
    wrong = 0
    print(f"{'file':32} noticed  harmless  otherwise")
    for name, counts in table.items():
        others = {end: count for end, count in counts.items() if end not in ("noticed", "harmless")}
        wrong += sum(others.values())
        print(f"{name:32} {counts['noticed']:7} {counts['harmless']:9}  {others or 0}")
    total = sum((counts for counts in table.values()), Counter())
    print(f"{flips} flips: {total['noticed']} noticed, {total['harmless']} harmless, {wrong} otherwise")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else FLIPS))
