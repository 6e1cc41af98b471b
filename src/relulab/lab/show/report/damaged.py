"""Runs and checks that cannot be shown. One of them never ends the whole report."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from relulab.core.errors import UserError
from relulab.core.printable import printable, shortened
from relulab.io.guard import one_line
from relulab.lab.show.report.forms import Unreadable

T = TypeVar("T")
# What a file that relulab has not written can raise in any reader. An OSError is about the report and ends it.
WRONG = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError)


class Damaged:
    """The reasons, by the paths of runs and checks below the folder of runs.

    Args:
        runs: The folder of runs. Its own path is not shown, because it may tell who made the report.
    """

    def __init__(self, runs: Path):
        self.runs = runs
        self.reasons: dict[str, str] = {}

    def __str__(self) -> str:
        return "".join(f"; {name}: {reason}" for name, reason in self.reasons.items())

    def without(self, make: Callable[[Any], T], things: Iterable[Any]) -> list[T]:
        """Return the result of a function for each thing; where it fails, keep the reason.

        Args:
            make: The function.
            things: Paths, runs or checks, or tuples that begin with one.
        """
        made = []
        for thing in things:
            try:
                made.append(make(thing))
            except (Unreadable, UserError) as reason:
                self.reasons[self._name(thing)] = printable(shortened(str(reason)))
            except WRONG as error:
                self.reasons[self._name(thing)] = f"it cannot be shown ({type(error).__name__}: {one_line(error)})"
        return made

    def _name(self, thing: Any) -> str:
        first = thing[0] if isinstance(thing, tuple) else thing
        path = first if isinstance(first, Path) else first.path
        return printable(os.fsencode(path.relative_to(self.runs)).decode("utf-8", "replace"))
