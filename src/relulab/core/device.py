"""Devices: what is computed by NumPy, SciPy or LAPACK goes to the CPU, and its answer back to where it was asked."""

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
    """A function that computes on the CPU alone, for tensors of any device: its answer is on the device of the first.

    Args:
        function: of tensors, among other things.

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


def device_of(*given: Any) -> torch.device:
    """The device of the first tensor, in lists and tuples as well; the CPU if there is none.

    Args:
        given: anything.

    >>> device_of(3.0, [torch.ones(2)])
    device(type='cpu')
    """
    for one in given:
        if isinstance(one, Tensor):
            return one.device
        if isinstance(one, (list, tuple)) and any(isinstance(part, Tensor) for part in one):
            return device_of(*one)
    return CPU


def placed(given: Any, device: torch.device) -> Any:
    """The same with every tensor on a device: in tuples, lists, mappings and data classes too.

    Args:
        given: anything.
        device: where its tensors should be.
    """
    if isinstance(given, Tensor):
        return given.to(device)
    if isinstance(given, Mapping):
        return {name: placed(one, device) for name, one in given.items()}
    if isinstance(given, tuple) and hasattr(given, "_fields"):
        return type(given)(*(placed(one, device) for one in given))
    if isinstance(given, (tuple, list)):
        return type(given)(placed(one, device) for one in given)
    if is_dataclass(given) and not isinstance(given, type):
        return replace(given, **{f.name: placed(getattr(given, f.name), device) for f in fields(given)})
    return given
