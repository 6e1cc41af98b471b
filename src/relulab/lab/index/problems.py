"""What the index leaves out, and why."""

from relulab.lab.outside_code import described

PROBLEMS: dict[str, str] = {}
"""What is left out, such as a subject or a module, each with the reason. The command line prints them as sentences."""


class NotWritten(Exception):
    """A value that is computed, so that it can only be determined by an import."""


class TooLarge(NotWritten):
    """A value that takes too much memory or time, so that an import is no solution either."""


def leave_out(what: str, why: str | BaseException) -> None:
    """Record that something is left out, with the reason: the end of a sentence, or an error."""
    why = why if isinstance(why, str) else f"cannot be imported: {described(why)}"
    known = PROBLEMS.get(what, "")
    if why not in known:
        PROBLEMS[what] = f"{known}; it {why}" if known else why
