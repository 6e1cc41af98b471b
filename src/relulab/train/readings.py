"""What probes return, and the numbers of epochs and steps, after checking that they are what they should be."""

import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.value_words import shortened

Reading = Mapping[str, tuple[tuple[str, ...], Tensor]]
"""measured values: name → (dimensions, values)"""


def checked_reading(given: Any) -> Reading:
    """Return what a probe measured, with numbers and arrays as tensors.

    Args:
        given: The dictionary that a probe returned.
    """
    if not isinstance(given, Mapping):
        raise UserError(
            f"expected a dictionary from a probe, name → (dimensions, values), got {type(given).__name__}: return for "
            'example {"size": ((), value)}'
        )
    return {str(name): _checked_values(str(name), value) for name, value in given.items()}


def _checked_values(name: str, given: Any) -> tuple[tuple[str, ...], Tensor]:
    pair = isinstance(given, tuple | list) and len(given) == 2
    dims = given[0] if pair else None
    if not isinstance(dims, tuple | list) or not all(isinstance(dim, str) for dim in dims):
        raise UserError(
            f"expected dimensions and values of {name!r} from a probe, such as ((), value) for one number, got "
            f"{type(given).__name__}: return {{{name!r}: (dimensions, values)}}"
        )
    try:
        values = torch.as_tensor(given[1])
    except (TypeError, ValueError, RuntimeError):
        raise UserError(
            f"expected a tensor, an array or a number as the values of {name!r} from a probe, got "
            f"{type(given[1]).__name__}: convert them to a tensor"
        ) from None
    if values.dim() != len(dims):
        raise UserError(
            f"expected one name for every dimension of {name!r} from a probe, got the names {tuple(dims)} for values "
            f"of shape {tuple(values.shape)}: change the names or the values"
        )
    return tuple(dims), values


def whole_number(name: str, given: Any) -> int:
    """Return a number that must be whole, such as a number of epochs.

    Args:
        name: What the number is called in the error message.
        given: The number.
    """
    try:
        return operator.index(given)
    except TypeError:
        if isinstance(given, float) and given.is_integer():
            return int(given)
        raise UserError(
            f"expected a whole number for {name}, got {shortened(given)}: change it to an integer"
        ) from None
