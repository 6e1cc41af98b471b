"""Progress of a long computation, for whoever displays it.

A computation goes through its parts with ``followed``. The command line sets a display with ``shown_by``; without one,
nothing happens. So instruments and tools neither print nor know who is watching.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Part = TypeVar("Part")
Display = Callable[[str, float], None]
"""called with what is being done and the share that is done, from 0 to 1"""

_display: ContextVar[Display | None] = ContextVar("display", default=None)


def followed(parts: Sequence[Part], doing: str) -> Iterator[Part]:
    """Yield the parts of a computation and report how many are done.

    Args:
        parts: The parts.
        doing: What is being done, in a few words.

    >>> seen = []
    >>> with shown_by(lambda doing, share: seen.append(f"{doing} {share:.0%}")):
    ...     list(followed("ab", "counting"))
    ['a', 'b']
    >>> seen
    ['counting 0%', 'counting 50%']
    """
    display = _display.get()
    for i, part in enumerate(parts):
        if display:
            display(doing, i / len(parts))
        yield part


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """Report the progress of all computations in the block to ``display``.

    Args:
        display: Function of what is being done and of the share that is done.
    """
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
