"""Arrays in annotations of jaxtyping: kinds of tensors and arrays by data type and number of axes."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

from relulab.core.kinds import REALS, TEXTS, Kind, dtype_name, is_module

DTYPES = {
    "Float": "floating-point", "Int": "integer", "UInt": "integer", "Integer": "integer", "Bool": "boolean",
    "Num": "", "Shaped": "", "Real": "", "Inexact": "",
}  # fmt: skip


def is_array_annotation(annotation: Any) -> bool:
    """Whether an annotation is an array of jaxtyping, such as ``Float[Tensor, "N d"]``.

    Args:
        annotation: Any annotation.
    """
    return isinstance(annotation, type) and hasattr(annotation, "dim_str") and hasattr(annotation, "dims")


def array_kind(annotation: Any) -> Kind:
    """Return the kind of an array. Lists and arrays of other libraries are refused only after a failure.

    Args:
        annotation: An array of jaxtyping.

    >>> from jaxtyping import Float
    >>> from torch import Tensor, zeros
    >>> kind = array_kind(Float[Tensor, "*lane N d"])
    >>> kind.words, kind.accepts(zeros(2, 3)), kind.accepts(zeros(3)), kind.accepts([[1.0]]), kind.exact([[1.0]])
    ('a floating-point tensor of shape (…, N, d)', True, False, True, False)
    """
    axes = axes_of(annotation)
    fewest, more = sum(axis != "…" for axis in axes), "…" in axes
    dtypes, array_type = annotation.dtypes, annotation.array_type
    known = isinstance(dtypes, (tuple, list))  # otherwise all data types

    def has_axes(value: Any) -> bool:
        return value.ndim >= fewest if more else value.ndim == fewest

    def accepts(value: Any) -> bool:
        if isinstance(value, type) or not hasattr(value, "ndim"):
            return like_an_array(value) and not (fewest and isinstance(value, Real))
        return is_real(value) and has_axes(value)

    def exact(value: Any) -> bool:
        return isinstance(value, array_type) and has_axes(value) and (not known or dtype_name(value) in dtypes)

    return Kind(_words(annotation, axes), "arrays", accepts, exact)


def _words(annotation: Any, axes: list[str]) -> str:
    name = annotation.__name__.partition("[")[0]
    adjective = DTYPES.get(name, name.lower())
    kind = "array" if annotation.array_type.__name__ == "ndarray" else "tensor"
    start = "an" if (adjective or kind)[0] in "aeiou" else "a"
    shape = f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"
    return " ".join(part for part in (start, adjective, kind, "of shape", shape) if part)


def axes_of(annotation: Any) -> list[str]:
    """Return the names of the axes of an array; "…" for any number of axes.

    Args:
        annotation: An array of jaxtyping.

    >>> from jaxtyping import Float
    >>> from torch import Tensor
    >>> axes_of(Float[Tensor, "*lane n d_"])
    ['…', 'n', 'd']
    """
    return ["…" if axis.startswith(("*", "...")) else axis.strip("#_") or "_" for axis in annotation.dim_str.split()]


def named_lengths(annotation: Any, value: Any) -> dict[str, int]:
    """Return the lengths of the axes of an array by name, from the last axis to the first one that is known.

    Axes whose name ends with an underscore may have any length, and are left out.

    Args:
        annotation: An array of jaxtyping.
        value: An array with as many axes.

    >>> from jaxtyping import Float
    >>> from torch import Tensor, zeros
    >>> named_lengths(Float[Tensor, "*lane N d_"], zeros(7, 2, 3))
    {'N': 2}
    """
    found: dict[str, int] = {}
    for axis, length in zip(reversed(annotation.dim_str.split()), reversed(value.shape), strict=False):
        if axis.startswith(("*", "...")):
            break
        if axis.isidentifier() and not axis.endswith("_"):
            found[axis] = length
    return found


def is_real(value: Any) -> bool:
    """Whether an array has real numbers or truth values.

    Args:
        value: An array.
    """
    return dtype_name(value).startswith(REALS)


def like_an_array(value: Any) -> bool:
    """Whether a value may be meant as an array of real numbers: a tensor, an array, a number, or lists.

    Args:
        value: Any value.
    """
    while isinstance(value, (list, tuple)):
        if not value:
            return True
        value = value[0]
    if isinstance(value, Real):
        return True
    if isinstance(value, (*TEXTS, Mapping, type)) or is_module(value):
        return False
    if hasattr(value, "dtype"):
        return is_real(value)
    return hasattr(value, "__array__") or hasattr(value, "__array_interface__")
