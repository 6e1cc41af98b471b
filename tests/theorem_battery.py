"""One battery for all theorems: cases whose verdict is known, and changes that must not change it.

A file ``cases.py`` in a subject's folder ``theorems`` has a dictionary ``CASES`` by the ids of the theorems. Run this
file to try everything, with several draws of every case, and to print how often a verdict was wrong:

    PYTHONPATH=src python tests/theorem_battery.py [--draws 3] [SS.T1 IB.L2 …]
"""

from __future__ import annotations

import argparse
import importlib.util
import operator
import re
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from changes import Arguments, Change

from relulab.core.errors import UserError
from relulab.lab.catalog import theorems
from relulab.lab.theorem import Finding, Verdict

KINDS = ("scaled", "rotated", "permuted", "repeated", "units permuted", "units rescaled", "float32")
"""what every theorem is tried with, or says why not"""

WAITING: set[str] = set()
"""theorems whose cases are still to be written"""

Known = Verdict | type[UserError]


@dataclass(frozen=True)
class Case:
    """A problem whose verdict is known by construction."""

    what: str
    expected: Known | tuple[Known, ...]
    given: Callable[[np.random.Generator], Arguments]
    """arguments of the check by name, drawn; many cases draw nothing"""
    but: tuple[str, ...] = ()
    """beginnings of the names of changes that change the truth of this case"""
    slow: bool = False
    """whether only the script tries it"""

    def allows(self, change: Change) -> bool:
        return not any(change.name.startswith(name) for name in self.but)

    def right(self, answer: Known | str) -> bool:
        return answer in (self.expected if isinstance(self.expected, tuple) else (self.expected,))


@dataclass(frozen=True)
class Cases:
    """All cases of one theorem, and the changes that keep its verdicts."""

    cases: tuple[Case, ...]
    changes: tuple[Change, ...]
    without: Mapping[str, str] = field(default_factory=dict)
    """why one of ``KINDS`` is not among the changes"""
    check: Callable[..., Finding] | None = None
    """the check, if the arguments of the cases are not those of the theorem's own one"""
    quick: tuple[str, ...] | None = None
    """changes that the test suite tries, if all would take too long; the script tries all"""

    never_alone: tuple[str, ...] = ()
    """conditions that can fail only together with another one, so that no case shows that they are needed"""

    def changes_of(self, case: Case, quick: bool = False) -> list[Change]:
        """The changes that keep the truth of a case."""
        tried = [c for c in self.changes if case.allows(c)]
        return [c for c in tried if self.quick is None or c.name in self.quick] if quick else tried


@cache
def cases() -> dict[str, Cases]:
    """All cases by the ids of their theorems."""
    return cases_in("theorems")


def cases_in(folder: str) -> dict[str, Any]:
    """The dictionaries ``CASES`` in such a folder of all subjects, in one."""
    found: dict[str, Any] = {}
    for path in sorted(Path(__file__).parent.glob(f"subjects/*/{folder}/cases.py")):
        name = f"{path.parts[-3]}_{folder}_cases"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        twice = set(found) & set(module.CASES)
        assert not twice, f"{', '.join(twice)} has cases in two files"
        found |= module.CASES
    return found


def missing() -> str:
    """A sentence on theorems without a case and on cases without a theorem, empty if there are none."""
    known = {id for id, one in theorems().items() if one.check.__module__.startswith("relulab.")}
    tried = set(cases())
    where = "add cases to CASES in tests/subjects/<subject>/theorems/cases.py"
    bare = [f"the theorem {id} has no case: {where}" for id in sorted(known - tried - WAITING)]
    bare += [f"the theorem {id} has cases: take it out of WAITING" for id in sorted(tried & WAITING)]
    return "; ".join([*bare, *(f"there is no theorem {id}: take its cases out" for id in sorted(tried - known))])


def checked(id: str, **arguments: Any) -> Finding:
    """What the check of a theorem finds."""
    return (cases()[id].check or theorems()[id].check)(**arguments)


def verdict_of(id: str, arguments: Arguments) -> tuple[Known | str, Finding | None]:
    """The verdict, UserError, or the last line of a traceback; and the finding if there is one."""
    try:
        finding = checked(id, **arguments)
    except UserError:
        return UserError, None
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})", None
    return finding.verdict, finding


@cache
def first_answer(id: str, case: Case) -> tuple[Known | str, Finding | None]:
    """The verdict and the finding in the first draw of a case."""
    return verdict_of(id, case.given(np.random.default_rng(0)))


def finding_of(id: str, case: Case) -> Finding | None:
    """What a theorem finds in the first draw of a case."""
    return first_answer(id, case)[1]


def conditions_of(id: str, of: list[Case]) -> list[dict[str, bool | None]]:
    """Whether each condition holds, in each case that has a finding. Numbers in its sentence are left out."""
    findings = [finding_of(id, case) for case in of]
    return [{re.sub(r"[-−]?\d[\d.,e+-]*", "#", c.says): c.holds for c in f.conditions} for f in findings if f]


def unguarded(id: str, of: list[Case]) -> set[str]:
    """Conditions that could be dropped without a wrong verdict: none of the cases fails because of them alone."""
    rows = conditions_of(id, of)
    alone = {
        says for row in rows for says, holds in row.items() if [holds] == [h for h in row.values() if h is not True]
    }
    return {says for row in rows for says in row} - alone


@dataclass(frozen=True)
class Wrong:
    """A verdict that is not the one that is known."""

    id: str
    case: str
    change: str
    answer: Known | str
    seed: int

    @property
    def is_traceback(self) -> bool:
        return isinstance(self.answer, str)

    def __str__(self) -> str:
        answer = self.answer if isinstance(self.answer, str) else getattr(self.answer, "name", "UserError")
        return f"{self.id}, {self.case}, {self.change or 'as given'}, draw {self.seed}: {answer}"


def tried(id: str, case: Case, changes: tuple[Change, ...], seed: int) -> Wrong | None:
    """Apply changes one after the other to a draw of a case, and compare the verdict with the known one."""
    arguments = case.given(np.random.default_rng(seed))
    rng, right = np.random.default_rng((seed, 1)), case.right
    for change in changes:
        if (rounded := change.before(arguments)) is not arguments:
            known, _ = verdict_of(id, rounded)
            right, arguments = partial(operator.eq, known), rounded
        arguments = change.of(arguments, rng)
    answer, _ = verdict_of(id, arguments)
    names = ", then ".join(change.name for change in changes)
    return None if right(answer) else Wrong(id, case.what, names, answer, seed)


def main() -> int:
    """Try everything and print a table of theorems and changes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", help="theorems; all if none is given")
    parser.add_argument("--draws", type=int, default=3, help="draws of every case")
    options = parser.parse_args()
    torch.set_num_threads(1)
    counts, wrong, begin = defaultdict(lambda: [0, 0, 0]), [], time.time()
    for id in options.ids or cases():
        for case in cases()[id].cases:
            for change in (None, *cases()[id].changes_of(case)):
                for seed in range(options.draws):
                    found = tried(id, case, (change,) if change else (), seed)
                    row = counts[id, change.name if change else "as given"]
                    row[0] += 1
                    if found:
                        row[2 if found.is_traceback else 1] += 1
                        wrong.append(found)
        print_rows(id, counts)
    total = np.array(list(counts.values())).sum(0)
    print(f"{total[0]:,} trials, {total[1]:,} wrong verdicts, {total[2]:,} tracebacks, {time.time() - begin:.0f} s")
    print(*wrong, sep="\n")
    print(missing())
    return bool(wrong or missing())


def print_rows(id: str, counts: Mapping[tuple[str, str], list[int]]) -> None:
    """A line for each change of one theorem: trials, wrong verdicts, tracebacks."""
    for (of, change), (trials, verdicts, tracebacks) in counts.items():
        if of == id:
            print(
                f"{id:<15} {change:<20} {trials:>6} trials {verdicts:>4} wrong {tracebacks:>4} tracebacks", flush=True
            )


if __name__ == "__main__":
    sys.exit(main())
