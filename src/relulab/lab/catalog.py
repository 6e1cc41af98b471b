"""Studies, theorems, instruments and measurements as objects; each is imported when it is asked for."""

from functools import cache
from importlib import import_module
from pathlib import Path

from relulab.lab.index import Entry, entries, entry
from relulab.lab.instrument import REGISTRY, Instrument
from relulab.lab.measurement import Measurement
from relulab.lab.own_study import study_of_file
from relulab.lab.study import Study
from relulab.lab.theorem import Theorem


def find_study(wanted: str) -> type[Study]:
    """A study by its name, by an id that it covers, or by the path of a Python file that defines it.

    Args:
        wanted: For instance ``"recovery"``, ``"SS.F7"`` or ``"my_study.py"``.

    >>> find_study("SS.F7").name
    'recovery'
    """
    if wanted.endswith(".py"):
        return study_of_file(Path(wanted))
    return _study(entry(wanted, "study"))


def find_theorem(wanted: str) -> Theorem:
    """A theorem by its id or by its name.

    Args:
        wanted: For instance ``"SS.L1"`` or ``"gradient-rule"``.

    >>> find_theorem("gradient-rule").id
    'SS.L1'
    """
    return _theorem(entry(wanted, "theorem"))


def find_measurement(wanted: str) -> type[Measurement]:
    """A measurement by its name.

    Args:
        wanted: For instance ``"max-margin"``.
    """
    return import_module(entry(wanted, "measurement").module).MEASUREMENT


def _study(found: Entry) -> type[Study]:
    return import_module(found.module).STUDY


def _theorem(found: Entry) -> Theorem:
    return import_module(found.module).THEOREM


@cache
def studies() -> dict[str, type[Study]]:
    """All studies by name."""
    return {found.name: _study(found) for found in entries() if found.kind == "study"}


@cache
def theorems() -> dict[str, Theorem]:
    """All theorems by id."""
    return {found.ids[0]: _theorem(found) for found in entries() if found.kind == "theorem"}


@cache
def instruments() -> dict[str, Instrument]:
    """All instruments by name."""
    for found in entries():
        if found.kind == "instrument":
            import_module(found.module)
    return {name: REGISTRY[name] for name in sorted(REGISTRY)}
