"""Checks of numbers that users give."""

from relulab.core.errors import UserError


def at_least(lowest: float, **given: float | None) -> None:
    """Raise a ``UserError`` if a number is below ``lowest``; None stands for a number that is not given.

    Args:
        lowest: The lowest number that is allowed.
        given: The numbers by name.

    >>> at_least(1, steps=4, batch=0)
    Traceback (most recent call last):
    relulab.core.errors.UserError: expected batch of at least 1, got batch=0: increase it
    """
    for name, number in given.items():
        if number is not None and not number >= lowest:
            raise UserError(f"expected {name} of at least {lowest:g}, got {name}={number}: increase it")


def above(lowest: float, **given: float | None) -> None:
    """Raise a ``UserError`` if a number is not above ``lowest``; None stands for a number that is not given.

    Args:
        lowest: The number that the others must exceed.
        given: The numbers by name.

    >>> above(0, std=0.0)
    Traceback (most recent call last):
    relulab.core.errors.UserError: expected std above 0, got std=0.0: increase it
    """
    for name, number in given.items():
        if number is not None and not number > lowest:
            raise UserError(f"expected {name} above {lowest:g}, got {name}={number}: increase it")
