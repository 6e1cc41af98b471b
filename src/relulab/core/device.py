"""Run functions that use NumPy, SciPy or LAPACK on the CPU and move their results back to the caller's device."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")
CPU = torch.device("cpu")


def by_cpu(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that computes on the CPU so that it accepts tensors on any device.

    The result is on the device of the first tensor argument.

    Args:
        function: A function with tensors among its arguments.

    >>> by_cpu(lambda x: x.numpy().sum().item())(torch.ones(3))
    3.0
    """

    @wraps(function)
    def moved(*args: P.args, **kwargs: P.kwargs) -> R:
        device = device_of(*args, *kwargs.values())
        if device == CPU:
            return function(*args, **kwargs)
        return placed(function(*placed(args, CPU), **placed(kwargs, CPU)), device)

    return moved


def device_of(*values: Any) -> torch.device:
    """Return the device of the first tensor among the values, or the CPU if there is none.

    Args:
        values: Any values. Lists and tuples are searched too.

    >>> device_of(3.0, [torch.ones(2)])
    device(type='cpu')
    """
    for value in values:
        if isinstance(value, Tensor):
            return value.device
        if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
            return device_of(*value)
    return CPU


def placed(given: Any, device: torch.device) -> Any:
    """Return a copy of a value with all its tensors on ``device``.

    Args:
        given: Any value. Tuples, lists, mappings and data classes are searched for tensors.
        device: The device that the tensors are moved to.
    """
    if isinstance(given, Tensor):
        return given.to(device)
    if isinstance(given, Mapping):
        return {name: placed(value, device) for name, value in given.items()}
    if isinstance(given, tuple) and hasattr(given, "_fields"):
        return type(given)(*(placed(value, device) for value in given))
    if isinstance(given, (tuple, list)):
        return type(given)(placed(value, device) for value in given)
    if is_dataclass(given) and not isinstance(given, type):
        return replace(given, **{f.name: placed(getattr(given, f.name), device) for f in fields(given)})
    return given
