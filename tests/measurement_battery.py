"""One battery for all measurements on files: their scale-free numbers do not change when the problem is rescaled.

A file ``cases.py`` in a subject's folder ``measurements`` has a dictionary ``CASES`` of tuples of cases by the names of
the measurements. The changes are those of the battery of theorems.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from changes import Arguments, Change
from theorem_battery import cases_in

from relulab import save
from relulab.data.labeled import Labeled
from relulab.lab.catalog import find_measurement
from relulab.lab.index import entries
from relulab.nets.mlp import MLP

CLOSE = 1e-6  # relative to the largest of the numbers that are compared with each other


@dataclass(frozen=True)
class Case:
    """A problem by option names, the numbers of its answer that are scale-free, and the changes that keep them."""

    what: str
    given: Callable[[np.random.Generator], Arguments]
    """networks, points and settings by the names of the options; networks ``checkpoint0``, … are one option"""
    numbers: Callable[[dict], Mapping[str, Any]]
    """numbers, lists of numbers, truth values and words of the document"""
    changes: tuple[Change, ...]
    without: Mapping[str, str] = field(default_factory=dict)
    """why a kind of change is not among them"""


@cache
def cases() -> dict[str, tuple[Case, ...]]:
    """All cases by the names of their measurements."""
    return cases_in("measurements")


WAITING: set[str] = set()
"""measurements whose cases are still to be written"""


def missing() -> str:
    """A sentence on measurements without a case and on cases without a measurement, empty if there are none."""
    known = {one.name for one in entries("measurement") if one.module.startswith("relulab.")}
    tried = set(cases())
    where = "add one to CASES in tests/subjects/<subject>/measurements/cases.py"
    bare = [f"the measurement {name} has no case: {where}" for name in sorted(known - tried - WAITING)]
    bare += [f"the measurement {name} has a case: take it out of WAITING" for name in sorted(tried & WAITING)]
    return "; ".join([*bare, *(f"there is no measurement {name}: take its case out" for name in sorted(tried - known))])


def document(name: str, problem: Arguments, folder: Path) -> dict:
    """Write the files of a problem and measure on them."""
    folder.mkdir(exist_ok=True)
    options, checkpoints = {}, []
    for key, value in problem.items():
        if isinstance(value, MLP):
            save(value, folder / f"{key}.safetensors")
            options[key] = folder / f"{key}.safetensors"
        elif isinstance(value, Labeled):
            np.savez(folder / f"{key}.npz", X=value.X.numpy(), y=value.y.numpy())
            options[key] = folder / f"{key}.npz"
        elif hasattr(value, "shape"):
            np.save(folder / f"{key}.npy", np.asarray(value))
            options[key] = folder / f"{key}.npy"
        else:
            options[key] = value
        if key.startswith("checkpoint"):
            checkpoints.append(options.pop(key))
    return (
        find_measurement(name)
        .given(**options, **({"checkpoints": checkpoints} if checkpoints else {}))
        .measure()
        .document
    )


def different(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What two answers differ in; empty if in nothing but rounding."""
    for key, value in before.items():
        old, new = (np.atleast_1d(np.asarray(v, dtype=object)) for v in (value, after[key]))
        if old.shape != new.shape or not all(map(_close, old, new, [_size(old)] * len(old))):
            return f"{key} was {value} and is {after[key]}"
    return ""


def _size(values: np.ndarray) -> float:
    return max((abs(v) for v in values if isinstance(v, float) and math.isfinite(v)), default=0.0)


def _close(old: Any, new: Any, size: float) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= CLOSE * size
    return old == new


def tried(name: str, case: Case, change: Change, seed: int, folder: Path) -> str:
    """What a change of a drawn problem changes in the answer; empty if nothing."""
    problem = change.before(case.given(np.random.default_rng(seed)))
    changed = change.of(problem, np.random.default_rng((seed, 1)))
    before, after = (case.numbers(document(name, p, folder / f"{i}")) for i, p in enumerate((problem, changed)))
    return different(before, after)
