"""Kinds of values: how they are called, and which values belong to them.

There are two checks. ``accepts`` is asked before a call. It refuses only what cannot be meant, so that lists, NumPy
arrays and NumPy numbers are accepted wherever they work. ``exact`` is asked after a call has failed, to find the
argument that is at fault.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from numbers import Real
from typing import Any

Check = Callable[[Any], bool]
TEXTS = (str, bytes, bytearray)
INTEGERS, REALS = ("int", "uint", "bool"), ("int", "uint", "bool", "float", "bfloat")


@dataclass(frozen=True)
class Kind:
    """A kind of value that an argument may have.

    Args:
        words: The kind in words, such as "an integer".
        plural: Several of them, such as "integers"; empty if there is no plural.
        accepts: Whether a value may be meant as one of this kind.
        is_exact: Whether a value is exactly of this kind, if this differs.
    """

    words: str
    plural: str
    accepts: Check
    is_exact: Check | None = None

    @property
    def exact(self) -> Check:
        """The check after a failure."""
        return self.is_exact or self.accepts


def dtype_name(value: Any) -> str:
    """Return the name of the data type of a tensor or array, and "" for other values.

    Args:
        value: Any value.
    """
    return str(getattr(value, "dtype", "")).removeprefix("torch.")


def is_module(value: Any) -> bool:
    """Whether a value is a ``torch.nn.Module``, without importing PyTorch.

    Args:
        value: Any value.
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def _single(value: Any, dtypes: tuple[str, ...]) -> bool:
    """Whether a value is an array with one number."""
    if isinstance(value, type) or not hasattr(value, "dtype"):
        return False
    return prod(getattr(value, "shape", ())) == 1 and dtype_name(value).startswith(dtypes)


def _is_integer(value: Any) -> bool:
    if isinstance(value, int):
        return True
    if isinstance(value, float):
        return value.is_integer()
    indexed = hasattr(value, "__index__") and not hasattr(value, "dtype") and not isinstance(value, type)
    return indexed or _single(value, INTEGERS)


def _is_exact_integer(value: Any) -> bool:
    return _is_integer(value) and not isinstance(value, float)


def _is_number(value: Any) -> bool:
    return _is_exact_number(value) or (_single(value, REALS) and not isinstance(value, Real))


def _is_exact_number(value: Any) -> bool:
    return isinstance(value, Real) and bool(value == value)  # NaN differs from itself


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool) or (_is_exact_integer(value) and int(value) in (0, 1))


def _is_exact_boolean(value: Any) -> bool:
    return isinstance(value, bool) or dtype_name(value) == "bool"


ANYTHING = Kind("anything", "", lambda value: True)
NOTHING = Kind("None", "", lambda value: value is None)
BOOLEAN = Kind("True or False", "truth values", _is_boolean, _is_exact_boolean)
INTEGER = Kind("an integer", "integers", _is_integer, _is_exact_integer)
NUMBER = Kind("a number", "numbers", _is_number, _is_exact_number)
NUMBER_OR_NAN = Kind("a number", "numbers", lambda value: isinstance(value, Real) or _single(value, REALS))
TEXT = Kind("a string", "strings", lambda value: isinstance(value, str))
PATH = Kind("a path", "paths", lambda value: isinstance(value, (str, os.PathLike)))
