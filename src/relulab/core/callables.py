"""Functions as arguments: kinds of functions by the number of their arguments."""

import inspect
from typing import Any

from relulab.core.kinds import Kind, is_module

COUNTS = ("no arguments", "one argument", "two arguments", "three arguments", "four arguments")


def function_kind(parameters: Any) -> Kind:
    """Return the kind of a function.

    Args:
        parameters: The types of its arguments, or an ellipsis if they are not known.

    >>> kind = function_kind([int])
    >>> kind.words, kind.accepts(abs), kind.accepts(lambda: 1), kind.accepts(int)
    ('a function of one argument', True, False, False)
    """
    known = isinstance(parameters, (list, tuple))
    words = f"a function of {COUNTS[len(parameters)]}" if known else "a function"
    # A network is a function of tensors, and of nothing else.
    of_tensors = not known or any(part is Any or "Tensor" in str(part) for part in parameters)

    def accepts(value: Any) -> bool:
        given: Any = value
        if not callable(value) or isinstance(value, type):  # a class is usually given instead of one of its objects
            return False
        if is_module(value):
            return of_tensors and (not known or takes(given.forward, len(parameters)))
        return not known or takes(value, len(parameters))

    return Kind(words, "functions", accepts)


def takes(function: Any, count: int) -> bool:
    """Whether a function can be called with this many arguments; True if it does not say.

    Args:
        function: The function.
        count: The number of arguments.

    >>> takes(lambda x, y=0: x, 2), takes(lambda x, y: x, 1)
    (True, False)
    """
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True
