"""Checks of the operations of an exported program before they run: types, shapes, memory and work.

Some kernels of PyTorch trust their arguments: batch normalization with fewer running means than channels reads memory
behind them. So every argument is compared with the schema of its operation, and with the shapes where they matter.
"""

import math
from typing import Any

import psutil
import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.guard import size

NODES = 20_000
"""Largest number of operations in a program."""
WORK = 1e12  # largest number of multiplications per point
AXES = 8  # largest number of entries in a list of sizes
WORDS = {"approximate": ("none", "tanh"), "padding": ("same", "valid"), "rounding_mode": ("trunc", "floor")}
CHANNELS = ("weight", "bias", "running_mean", "running_var")  # of batch normalization: one entry for each channel
PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "conv1d", "conv2d", "convolution"}


def check_overload(call: Any, target: str) -> None:
    """Raise a UserError unless an operation works on tensors.

    Args:
        call: The operation.
        target: Its name in the file, for the message.
    """
    first = call._schema.arguments[0] if call._schema.arguments else None
    if first is None or str(first.real_type) not in ("Tensor", "List[Tensor]"):
        raise UserError(f"the program uses {target}, which does not work on tensors: write the model without it")


def check_arguments(operation: str, call: Any, positional: list[Any], named: dict[str, Any]) -> None:
    """Raise a ValueError unless all arguments fit the schema of an operation and each other.

    Args:
        operation: The name of the operation.
        call: The operation.
        positional: Its positional arguments.
        named: Its named arguments.
    """
    declared = call._schema.arguments
    places = [argument for argument in declared if not argument.kwarg_only]
    if len(positional) > len(places):
        raise ValueError(f"{operation} takes at most {len(places)} arguments, got {len(positional)}")
    given = dict(zip((argument.name for argument in places), positional, strict=False)) | named
    kinds = {argument.name: str(argument.real_type) for argument in declared}
    for name, value in given.items():
        if name not in kinds:
            raise ValueError(f"{operation} has no argument {name}")
        if not _fits(kinds[name], name, value):
            raise ValueError(f"{operation}: the argument {name} must be {kinds[name]}, got {type(value).__name__}")
    if "batch_norm" in operation:
        _check_channels(operation, given)


def _fits(kind: str, name: str, value: Any) -> bool:
    """Whether a value has the type that a schema declares. Types of tensors and memory formats cannot be chosen."""
    if kind.startswith("Optional["):
        return value is None or _fits(kind[9:-1], name, value)
    if kind == "Tensor":
        return isinstance(value, Tensor)
    if kind == "List[Tensor]":
        return isinstance(value, list) and 0 < len(value) <= NODES and all(isinstance(t, Tensor) for t in value)
    if kind == "int":
        return type(value) is int and abs(value) < 2**63
    if kind == "List[int]":
        whole = value if isinstance(value, list) else [value]
        return len(whole) <= AXES and all(type(n) is int and abs(n) < 2**63 for n in whole)
    if kind == "bool":
        return type(value) is bool
    if kind in ("float", "number"):
        return type(value) in (int, float, bool) and (type(value) is not int or abs(value) < 2**63)
    return kind == "str" and value in WORDS.get(name, ())


def _check_channels(operation: str, given: dict[str, Any]) -> None:
    x = given.get("input")
    if not isinstance(x, Tensor) or x.dim() < 2:
        raise ValueError(f"{operation} needs an input with channels")
    for name in CHANNELS:
        value = given.get(name)
        if value is None and name.startswith("running"):
            raise ValueError(f"{operation} needs {name}")
        if value is not None and value.shape != (x.shape[1],):
            raise ValueError(f"{operation}: {name} has shape {tuple(value.shape)}, but there are {x.shape[1]} channels")


class Budget:
    """Adds up what a program needs, from the shapes of its results alone.

    Args:
        points: The number of points that the program is evaluated at.
    """

    def __init__(self, points: int):
        self.points, self.bytes, self.work = max(1, points), 0, 0.0

    def add(self, operation: str, arguments: list[Any], results: list[Any]) -> None:
        """Count an operation; raise a UserError if the program needs more memory or time than there is.

        Args:
            operation: The name of the operation.
            arguments: Its arguments.
            results: Its results.
        """
        tensors = [t for t in results if isinstance(t, Tensor)]
        self.bytes += sum(t.numel() * t.element_size() for t in tensors)
        if operation in PRODUCTS and tensors:
            inner = [_inner(operation, t) for t in arguments[:3] if isinstance(t, Tensor) and t.dim() > 1]
            self.work += tensors[0].numel() * float(max(inner, default=1))
        available = psutil.virtual_memory().available
        if self.bytes > available:
            raise UserError(
                f"the program needs more than {size(self.bytes)} of memory for {self.points:,} points, but only "
                f"{size(available)} are free: use fewer points or a smaller network"
            )
        if self.work > WORK * self.points:
            raise UserError(
                f"the program needs more than {WORK:.0e} multiplications per point, which would take too long: use a "
                "smaller network"
            )


def _inner(operation: str, tensor: Tensor) -> int:
    """An upper bound on the number of terms that are summed for one entry of the result."""
    return math.prod(tensor.shape[1:]) if "conv" in operation else max(tensor.shape[-2:])


def shapes_only(tensor: Tensor) -> Tensor:
    """Return a tensor with the same shape and type that takes no memory."""
    return torch.empty_like(tensor, device="meta")
