"""Numbers as a user has them, tensors, arrays or lists, as tensors of one floating type."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError

Numbers = Tensor | np.ndarray | Sequence | float


def tensor(name: str, given: Numbers) -> Tensor:
    """A tensor as it is, anything else as one; what is not numbers in a full table is refused under its ``name``."""
    try:
        # NumPy does not round a list to single precision; torch takes neither read-only arrays nor reversed ones.
        array = given if isinstance(given, Tensor) else np.require(np.asanyarray(given), requirements=["C", "W"])
        found = torch.as_tensor(array)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"{name} must be numbers in rows, all of one length: {error}") from None
    if found.is_complex():
        raise UserError(f"{name} are complex: real numbers are needed")
    return found


def tensors(**given: Numbers) -> list[Tensor]:
    """All that is given in one floating type, the widest that comes in; lists and whole numbers alone are float64.

    >>> [t.dtype for t in tensors(W=torch.ones(2), X=[[1.0, 2.0]])], [t.dtype for t in tensors(W=torch.ones(2), a=[1])]
    ([torch.float64, torch.float64], [torch.float32, torch.float32])
    """
    found = [tensor(name, x) for name, x in given.items()]
    widest = reduce(torch.promote_types, (t.dtype for t in found))
    return [t.to(widest if widest.is_floating_point else torch.float64) for t in found]
