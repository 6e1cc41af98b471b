"""Convert tensors, arrays and lists from a user to tensors of one floating-point type."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError

Numbers = Tensor | np.ndarray | Sequence | float


def tensor(name: str, given: Numbers) -> Tensor:
    """Convert a value to a tensor; a tensor is returned unchanged.

    Args:
        name: What the value is called in error messages, in the plural: "points".
        given: Real numbers: a tensor, an array, a number, or lists of equal length.
    """
    try:
        # NumPy keeps lists in double precision; torch accepts neither read-only arrays nor negative strides.
        array = given if isinstance(given, Tensor) else np.require(np.asanyarray(given), requirements=["C", "W"])
        result = torch.as_tensor(array)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"{name} must be real numbers in rows of equal length: {error}") from None
    if result.is_complex():
        raise UserError(f"{name} must be real numbers, got {result.dtype}: take the real part or the absolute value")
    return result


def tensors(**given: Numbers) -> list[Tensor]:
    """Convert values to tensors of one floating-point type, the widest among them.

    If there are only lists and integers, the type is float64.

    Args:
        given: The values by name; the names are used in error messages.

    >>> [t.dtype for t in tensors(W=torch.ones(2), X=[[1.0, 2.0]])], [t.dtype for t in tensors(W=torch.ones(2), a=[1])]
    ([torch.float64, torch.float64], [torch.float32, torch.float32])
    """
    converted = [tensor(name, x) for name, x in given.items()]
    widest = reduce(torch.promote_types, (t.dtype for t in converted))
    return [t.to(widest if widest.is_floating_point else torch.float64) for t in converted]
