"""Errors that are reported to the user in one sentence."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """An invalid argument, file or option. The message says what was expected, what was given and what to do."""


class OwnCodeError(UserError):
    """An error in a user's own code. The message begins with the file and the line."""


class RunStopped(RuntimeError):
    """A run that stopped for a reason outside the call, such as a lost worker or a full disk. Finished work is kept."""

    def __init__(self, why: str, remedy: str = "finished units are kept; run the same command again to continue"):
        super().__init__(f"{why}; {remedy}")


def nearest(given: str, known: Iterable[str]) -> str:
    """Return the end of an error message: the closest valid name, or all valid names if none is close.

    Args:
        given: The name that is not valid.
        known: The valid names.

    >>> nearest("recovry", ["recovery", "focus"])
    "did you mean 'recovery'?"
    >>> nearest("xyz", ["recovery", "focus"])
    'choose from recovery, focus'
    """
    known = list(known)
    folded = {name.lower(): name for name in known}
    close = get_close_matches(given.lower(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[close[0]]!r}?" if close else "choose from " + ", ".join(known)
