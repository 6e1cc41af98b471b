"""Studies, theorems, instruments and measurements as objects. Each is imported when it is requested."""

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
    return import_module(entry(wanted, "measurement").module).MEASUREMENT


def _study(listed: Entry) -> type[Study]:
    return import_module(listed.module).STUDY


def _theorem(listed: Entry) -> Theorem:
    return import_module(listed.module).THEOREM


@cache
def studies() -> dict[str, type[Study]]:
    """Return all studies by name."""
    return {listed.name: _study(listed) for listed in entries() if listed.kind == "study"}


@cache
def theorems() -> dict[str, Theorem]:
    """Return all theorems by id."""
    return {listed.ids[0]: _theorem(listed) for listed in entries() if listed.kind == "theorem"}


@cache
def instruments() -> dict[str, Instrument]:
    """Return all instruments by name."""
    for listed in entries():
        if listed.kind == "instrument":
            import_module(listed.module)
    return {name: REGISTRY[name] for name in sorted(REGISTRY)}
