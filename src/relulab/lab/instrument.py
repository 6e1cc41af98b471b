"""Instruments: pure functions of networks, activations or matrices that return numbers.

They are registered so that they can be listed, and so that one set of tests covers all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from relulab.core.errors import UserError
from relulab.lab.outside_code import outside

F = TypeVar("F", bound=Callable)


@dataclass(frozen=True)
class Instrument:
    """The catalog entry of an instrument: its function, the source of its formula, and the ids that it belongs to."""

    name: str
    title: str
    source: str
    ids: tuple[str, ...]
    function: Callable


REGISTRY: dict[str, Instrument] = {}


def instrument(*, source: str, ids: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Return a decorator that registers a function as an instrument. Its title is the first line of its docstring.

    Args:
        source: The paper and the equation of the formula.
        ids: The ids of the paper's items that it belongs to.
    """

    def register(function: F) -> F:
        lines = (function.__doc__ or "").strip().splitlines()
        if not lines:
            raise UserError(f"the instrument {function.__name__} of {function.__module__} needs a docstring: add one")
        known = REGISTRY.get(function.__name__)
        # The instruments of relulab keep their names, whatever else is imported.
        if known is None or outside(known.function.__module__) or not outside(function.__module__):
            title = lines[0].rstrip(".")
            REGISTRY[function.__name__] = Instrument(function.__name__, title, source, ids, function)
        return function

    return register
