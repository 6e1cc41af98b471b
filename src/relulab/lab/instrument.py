"""Instruments: pure functions from networks, activations or matrices to numbers, registered so that they can be listed
and so that one battery of tests covers them all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

F = TypeVar("F", bound=Callable)


@dataclass(frozen=True)
class Instrument:
    """What the catalog says of an instrument: where its formula stands and which ledger items it serves."""

    name: str
    title: str
    source: str
    ids: tuple[str, ...]
    function: Callable


REGISTRY: dict[str, Instrument] = {}


def instrument(*, source: str, ids: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Registers a function as an instrument; its title is the first line of its docstring."""

    def register(function: F) -> F:
        title = (function.__doc__ or "").strip().splitlines()[0].rstrip(".")
        REGISTRY[function.__name__] = Instrument(function.__name__, title, source, ids, function)
        return function

    return register
