"""Studies, theorems, instruments and measurements as objects. Each is imported when it is requested."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from relulab.core.errors import UserError
from relulab.lab.index import Entry, entries, entry
from relulab.lab.index.problems import leave_out
from relulab.lab.instrument import REGISTRY, Instrument
from relulab.lab.measurement import Measurement
from relulab.lab.outside_code import blamed
from relulab.lab.own_study import study_of_file
from relulab.lab.study import Study
from relulab.lab.theorem import Theorem


def find_study(wanted: str) -> type[Study]:
    """Return a study by its name, by one of its ids, or by the path of a Python file that defines it.

    Args:
        wanted: For example ``"recovery"``, ``"SS.F7"`` or ``"my_study.py"``.

    >>> find_study("SS.F7").name
    'recovery'
    """
    if wanted.endswith(".py"):
        return study_of_file(Path(wanted))
    return _study(entry(wanted, "study"))


def find_theorem(wanted: str) -> Theorem:
    """Return a theorem by its id or by its name.

    Args:
        wanted: For example ``"SS.L1"`` or ``"gradient-rule"``.

    >>> find_theorem("gradient-rule").id
    'SS.L1'
    """
    return _theorem(entry(wanted, "theorem"))


def find_measurement(wanted: str) -> type[Measurement]:
    """Return a measurement by its name.

    Args:
        wanted: For example ``"max-margin"``.
    """
    return _measurement(entry(wanted, "measurement"))


def _study(listed: Entry) -> type[Study]:
    return _imported(listed).STUDY


def _theorem(listed: Entry) -> Theorem:
    return _imported(listed).THEOREM


def _measurement(listed: Entry) -> type[Measurement]:
    return _imported(listed).MEASUREMENT


def _imported(listed: Entry) -> Any:
    """Import the module of an entry; an error in a module from outside relulab names its file and line."""
    with blamed(listed.module, "when the module is imported"):
        return import_module(listed.module)


@cache
def studies() -> dict[str, type[Study]]:
    """Return all studies by name."""
    return {listed.name: study for listed, study in _all("study", _study)}


@cache
def theorems() -> dict[str, Theorem]:
    """Return all theorems by id."""
    return {listed.ids[0]: theorem for listed, theorem in _all("theorem", _theorem)}


def _all(kind: str, found: Callable[[Entry], Any]) -> Iterator[tuple[Entry, Any]]:
    """Yield all entries of a kind with their objects. What cannot be imported is left out, which is recorded."""
    for listed in entries(kind):
        try:
            yield listed, found(listed)
        except UserError as reason:  # only for modules from outside
            leave_out(listed.module, f"is left out: {reason}")


@cache
def instruments() -> dict[str, Instrument]:
    """Return all instruments by name."""
    for listed in entries():
        if listed.kind == "instrument":
            _imported(listed)
    return {name: REGISTRY[name] for name in sorted(REGISTRY)}
