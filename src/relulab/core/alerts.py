"""Warnings to the user: a call can finish, but its result is not what was probably wanted."""

import sys
import warnings

THROUGH = ("relulab", "torch", "contextlib", "jaxtyping")  # packages whose functions lie between user and warning


class Diverged(UserWarning):
    """The weights of networks became NaN or infinite."""


class SameBatches(UserWarning):
    """A network is trained on the same batches again."""


def alert(message: str, category: type[UserWarning]) -> None:
    """Give a warning that points to the line of the user that led to it.

    Args:
        message: What happened and what to do, in one sentence.
        category: The kind of warning.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in THROUGH:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
