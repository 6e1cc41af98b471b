"""A device that is not there: tensors that live on it compute on the CPU and refuse to mix with tensors of the CPU."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("meta")  # a device that PyTorch knows and that needs no driver
FROM_DATA = (torch.tensor, torch.as_tensor, torch.asarray)


class Elsewhere(Tensor):
    """A tensor that says it lives on ``DEVICE``; ``inner`` has its numbers."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Elsewhere:
        self = Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
            device=DEVICE, requires_grad=inner.requires_grad,
        )  # fmt: skip
        self.inner = inner
        return self

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _run(func, args, kwargs or {})

    def __repr__(self, **_: Any) -> str:
        return f"elsewhere: {self.inner!r}"


class _Data(TorchFunctionMode):
    """Ways from data to tensors and back that do not come by the dispatcher.

    PyTorch fills no tensor of its device "meta" from a list: it is filled on the CPU and then moved.
    """

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in FROM_DATA and kwargs.get("device") == DEVICE and not isinstance(args[0], Tensor):
            return func(*args, **{**kwargs, "device": "cpu"}).to(DEVICE)
        if args and isinstance(args[0], Elsewhere):
            if func is Tensor.tolist:  # PyTorch lists no subclass
                return args[0].inner.tolist()
            if func is Tensor.new_tensor:
                return Elsewhere(args[0].inner.new_tensor(*args[1:], **kwargs))
            if func in (Tensor.numpy, Tensor.__array__):
                raise AssertionError("a tensor of another device must go to the CPU before NumPy can read it")
        return func(*args, **kwargs)


class Watched(TorchDispatchMode):
    """While open, tensors can be made on ``DEVICE`` and moved there."""

    def __enter__(self) -> Watched:
        self._data = _Data()
        self._data.__enter__()
        return super().__enter__()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        self._data.__exit__(kind, error, trace)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: tuple, kwargs: dict) -> Any:
    given = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, Tensor)]
    there = [t for t in given if isinstance(t, Elsewhere)]
    here = [t for t in given if not isinstance(t, Elsewhere) and t.dim()]  # a number of the CPU may go with anything
    name = func._schema.name
    if there and here and not name.startswith(("aten::copy_", "aten::_to_copy", "aten::index")):
        shapes = ", ".join(str(tuple(t.shape)) for t in here)
        raise AssertionError(
            f"{name} mixes a tensor made on the CPU, of shape {shapes}, with tensors of another device"
        )
    asked = kwargs.get("device")
    if asked is not None:
        kwargs = {**kwargs, "device": torch.device("cpu") if asked == DEVICE else asked}
    was = {id(t.inner): t for t in there}
    plain = tree_map(lambda t: t.inner if isinstance(t, Elsewhere) else t, (args, kwargs))
    out = func(*plain[0], **plain[1])
    goes = bool(there) if asked is None else asked == DEVICE

    def wrapped(t: Any) -> Any:
        if not isinstance(t, Tensor) or isinstance(t, Elsewhere):
            return t
        return was[id(t)] if id(t) in was else Elsewhere(t) if goes else t

    return tree_map(wrapped, out)


def moved(given: Any) -> Any:
    """Arguments on ``DEVICE``: tensors, tuples of them, and networks, which are changed in place."""
    if isinstance(given, nn.Module):
        for module in given.modules():
            for name, parameter in list(module.named_parameters(recurse=False)):
                there = nn.Parameter(Elsewhere(parameter.data), requires_grad=parameter.requires_grad)
                module.register_parameter(name, there)
        return given
    if isinstance(given, tuple):
        all_moved = [moved(one) for one in given]
        return type(given)(*all_moved) if hasattr(given, "_fields") else tuple(all_moved)
    return Elsewhere(given) if isinstance(given, Tensor) else given


def back(tensor: Tensor) -> Tensor:
    """A tensor of ``DEVICE`` on the CPU."""
    return tensor.inner if isinstance(tensor, Elsewhere) else tensor
