"""What a user did that cannot work, said in one sentence."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """A mistake in what was asked for: the message says what was given, what was expected and what to do."""


class RunStopped(RuntimeError):
    """A run that could not go on, by no mistake of the call: a lost worker, a full disk. What was finished is kept."""

    def __init__(self, why: str, then: str = "finished units are kept, the same command continues"):
        super().__init__(f"{why}; {then}")


def nearest(given: str, known: Iterable[str]) -> str:
    """The end of an error sentence: the closest known name, or all of them when none is close.

    >>> nearest("recovry", ["recovery", "focus"])
    "did you mean 'recovery'?"
    >>> nearest("xyz", ["recovery", "focus"])
    'known are recovery, focus'
    """
    known = list(known)
    folded = {name.lower(): name for name in known}
    close = get_close_matches(given.lower(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[close[0]]!r}?" if close else "known are " + ", ".join(known)
