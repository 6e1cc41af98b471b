"""Short texts for objects with large arrays, as notebooks show them."""

from dataclasses import fields, is_dataclass
from typing import Any

from relulab.core.value_words import shortened

FEW = 6  # numbers of an array, or elements of a list, that are shown


def short_repr(thing: Any) -> str:
    """Return a text for a named tuple or a data class on one line, with large arrays by data type and shape.

    Classes use it as ``__repr__ = short_repr``.

    Args:
        thing: A named tuple, or an object of a data class.

    >>> from typing import NamedTuple
    >>> import torch
    >>> class Weights(NamedTuple):
    ...     w: torch.Tensor
    ...     b: torch.Tensor
    ...     __repr__ = short_repr
    >>> Weights(torch.zeros(20, 3), torch.tensor([0.25, 1.0]))
    Weights(w=float32 (20, 3), b=[0.25, 1])
    """
    names = [field.name for field in fields(thing)] if is_dataclass(thing) else thing._fields
    return f"{type(thing).__name__}({', '.join(f'{name}={brief(getattr(thing, name))}' for name in names)})"


def brief(value: Any) -> str:
    """Describe a value in a few words: a few numbers as they are, a large array by data type and shape.

    Args:
        value: Any value.

    >>> import numpy as np
    >>> brief(np.eye(5)), brief(np.array([1, 2])), brief(0.123456789), brief(list(range(100)))
    ('float64 (5, 5)', '[1, 2]', '0.1235', '100 elements')
    """
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        if len(shape) > 1 or (len(shape) == 1 and shape[0] > FEW) or "meta" in str(getattr(value, "device", "")):
            return f"{str(dtype).removeprefix('torch.')} {tuple(shape)}"
        return brief(value.tolist())
    if isinstance(value, float):
        return f"{value:.4g}"
    if type(value) in (list, tuple):
        if len(value) > FEW:
            return f"{len(value)} elements"
        start, end = "[]" if isinstance(value, list) else "()"
        return f"{start}{', '.join(map(brief, value))}{end}"
    return shortened(value, 120)


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun.

    Args:
        number: The number.
        singular: The noun for one.
        plural: The noun for several. Default: with an s.

    >>> counted(1, "lane"), counted(10_000, "point")
    ('1 lane', '10,000 points')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
