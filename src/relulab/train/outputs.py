"""Outputs of a network: a tensor, or a tuple, list, named tuple or dictionary of tensors, one per exit."""

from collections.abc import Callable, MutableMapping
from copy import copy
from typing import Any

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.train.losses import Loss

Output = Any
"""output of a network: a tensor, or several tensors in a tuple, list, named tuple or dictionary"""


def outputs_of(net: nn.Module, x: Tensor) -> Output:
    """Return the outputs of ``net`` at a batch; a batch that it cannot take is reported with its shape.

    Args:
        net: The network.
        x: Inputs, (batch, …) or (lane, batch, …).
    """
    try:
        return net(x)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(
            f"expected a network that takes batches of shape {tuple(x.shape)} and type {x.dtype}, but "
            f"{type(net).__name__} failed on one ({reason}): change the network or the inputs"
        ) from error


def detached(f: Output) -> Output:
    """Return the outputs without their computation graph."""
    return each(f, Tensor.detach)


def of_lane(f: Output, i: int) -> Output:
    """Return the outputs of lane ``i``."""
    return each(f, lambda part: part[i])


def each(f: Output, change: Callable[[Tensor], Tensor]) -> Output:
    """Return the outputs with ``change`` applied to every tensor; anything else, such as None, stays as it is.

    Args:
        f: The outputs.
        change: Function of a tensor.
    """
    if isinstance(f, Tensor):
        return change(f)
    if isinstance(f, MutableMapping):
        changed = copy(f)  # of the same class, whose values may also be attributes
        for name, part in f.items():
            changed[name] = each(part, change)
        return changed
    if isinstance(f, tuple | list):
        parts = [each(part, change) for part in f]
        return type(f)(*parts) if hasattr(f, "_fields") else type(f)(parts)
    return f


def residual(loss: Loss, f: Output, y: Tensor) -> Tensor:
    """Return ∂ℓ/∂f for a ``Loss``."""
    if not isinstance(f, Tensor):
        raise UserError(
            f"expected one tensor as the output of the network, got a {type(f).__name__}: pass a function "
            "loss(outputs, targets) that combines several outputs"
        )
    if f.shape != y.shape:
        raise UserError(
            f"expected outputs of shape {tuple(y.shape)}, the shape of the targets, got {tuple(f.shape)}: change the "
            "network or the targets"
        )
    g = f.detach().clone()
    loss.residual_(g, y)
    return g


def one_value(value: Any) -> Tensor:
    """Return the loss of a batch as a scalar tensor after checking that it is one number."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        given = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise UserError(f"expected a tensor with one number from the loss, got {given}: return the mean over the batch")
    return value if not value.dim() else value.reshape(())
