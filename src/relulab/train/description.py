"""Descriptions of settings by content, so that a checkpoint of other settings is recognized in any process.

Everything that a setting refers to is part of its description: the code, constants, defaults, closure and global names
of functions, the attributes of objects, and the values of tensors. Code of installed packages counts by name and
version. What cannot be described, such as an open file or a generator, raises ``Undescribable``. NumPy and PyTorch are
not imported here: without them there are no arrays and no tensors to describe.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from relulab.core.installed import installed
from relulab.train.description_parts import (
    checksum,
    content,
    global_names,
    internal,
    lasting,
    names,
    used_of,
    version,
)

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import Tensor, nn

MOST = 100_000
"""Largest number of objects in a description."""
PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)


class Undescribable(Exception):
    """An object whose state cannot be read. The message is its type."""


def description(value: Any) -> str:
    """Return a checksum of ``value`` that is the same in every process for equal content, and different for other.

    Args:
        value: Any settings, such as functions, networks, tensors, and containers of them.

    >>> description(lambda t: 0.5**t) == description(lambda t: 0.5**t), description(0.5) == description(0.25)
    (True, False)
    """
    try:
        return _Description().of(value)
    except Undescribable:
        raise
    except Exception as error:  # any code of the object may run here, and may raise anything
        raise Undescribable(f"{type(value).__name__} ({error})") from error


class _Description:
    """Checksums of objects by content; an object that contains itself refers to its depth."""

    def __init__(self) -> None:
        # Objects are kept here with their checksums, since the id of a deleted object could be used again.
        self.known: dict[int, tuple[Any, str]] = {}
        self.above: list[int] = []
        self.count = 0
        self.kinds, self.plain = _kinds(), PLAIN
        if torch := sys.modules.get("torch"):
            self.plain = (*PLAIN, torch.dtype, torch.device, torch.Size)

    def of(self, value: Any) -> str:
        self.count += 1
        if self.count > MOST:
            raise Undescribable(f"{type(value).__name__} with more than {MOST:,} parts")
        if type(value) in self.plain:
            return checksum(type(value).__name__, repr(value))
        if id(value) in self.known:
            return self.known[id(value)][1]
        if id(value) in self.above:
            return checksum("cycle", str(self.above.index(id(value))))
        self.above.append(id(value))
        found = checksum(*self._parts(value))
        self.above.pop()
        self.known[id(value)] = value, found
        return found

    def all(self, values: Iterable[Any]) -> list[str]:
        return [self.of(value) for value in values]

    def _parts(self, value: Any) -> Iterator[str]:
        kind, describe = next(
            ((kind, describe) for kind, describe in self.kinds if isinstance(value, kind)),
            _EXACT.get(type(value), (object, _Description._object)),
        )
        yield kind.__name__
        yield from describe(self, value)

    def _sequence(self, value: Any) -> Iterator[str]:
        yield from self.all(value)

    def _set(self, value: Any) -> Iterator[str]:
        yield from sorted(self.all(value))

    def _mapping(self, value: Mapping) -> Iterator[str]:
        yield from self.all(part for item in value.items() for part in item)

    def _tensor(self, value: Tensor) -> Iterator[str]:
        from relulab.train.checkpoint import digest
        from relulab.train.hooked import hooks_of

        yield f"{value.dtype} {tuple(value.shape)} {value.stride()} {value.requires_grad} {digest([value])}"
        yield from self.all([type(value), vars(value), *hooks_of(value)])

    def _array(self, value: np.ndarray | np.generic) -> Iterator[str]:
        array = sys.modules["numpy"].asarray(value)
        yield f"{array.dtype} {array.shape}"
        yield from (
            self.all(array.ravel().tolist()) if array.dtype.hasobject else [hashlib.sha256(array.tobytes()).hexdigest()]
        )

    def _module(self, value: nn.Module) -> Iterator[str]:
        """Describe a network by its class and attributes; hooks are numbered differently in every process."""
        yield self.of(type(value))
        for name, part in vars(value).items():
            yield name
            yield from self.all(part.values()) if name.endswith("_hooks") and part else [self.of(part)]

    def _function(self, value: FunctionType) -> Iterator[str]:
        of_package = installed(value.__module__)
        if of_package:  # decorators of packages do not change between two calls
            value = inspect.unwrap(value)
        cells = [content(cell) for cell in value.__closure__ or ()]
        attributes = {name: part for name, part in vars(value).items() if name != "__wrapped__" or not of_package}
        yield from (value.__qualname__, self.of(value.__code__))
        yield from self.all([value.__defaults__, value.__kwdefaults__, attributes, *cells])
        if not of_package:
            for name in sorted(global_names(value.__code__) & value.__globals__.keys()):
                used = value.__globals__[name]
                yield from self.all([name, used])
                if isinstance(used, ModuleType) and not installed(used.__name__):
                    yield from self.all(part for item in used_of(used, names(value.__code__)) for part in item)

    def _code(self, value: CodeType) -> Iterator[str]:
        yield from (value.co_code.hex(), value.co_exceptiontable.hex(), str(value.co_flags), str(value.co_argcount))
        yield from self.all([value.co_consts, value.co_names, value.co_varnames, value.co_freevars])

    def _method(self, value: MethodType) -> Iterator[str]:
        yield from self.all([value.__func__, value.__self__])

    def _builtin(self, value: BuiltinFunctionType) -> Iterator[str]:
        yield value.__qualname__
        yield self.of(value.__self__)

    def _library(self, value: ModuleType) -> Iterator[str]:
        yield f"{value.__name__} {version(value.__name__)}"
        if not installed(value.__name__):  # any of its functions may be called
            file = getattr(value, "__file__", None)
            own = {name: part for name, part in vars(value).items() if not name.startswith("__")}
            yield hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else self.of(own)

    def _class(self, value: type) -> Iterator[str]:
        yield f"{value.__module__} {value.__qualname__} {version(value.__module__)}"
        if not installed(value.__module__):
            yield from self.all(value.__bases__)
            for name, part in sorted(vars(value).items()):
                part = part.__func__ if isinstance(part, staticmethod | classmethod) else part
                part = part.func if isinstance(part, functools.cached_property) else part
                part = (part.fget, part.fset) if isinstance(part, property) else part
                if isinstance(part, FunctionType | tuple) or not (name.startswith("__") or internal(name, part)):
                    yield from (name, self.of(part))

    def _generator(self, value: torch.Generator) -> Iterator[str]:
        yield from (str(value.device), self.of(value.get_state()))

    def _path(self, value: Path) -> Iterator[str]:
        yield str(value)

    def _object(self, value: Any) -> Iterator[str]:
        """Describe any other object by its class and state, as the module ``copy`` sees it."""
        kind = type(value)
        yield self.of(kind)
        if hasattr(kind, "__pydantic_fields__"):
            # Which fields were given explicitly does not matter, and the text of a file gives all of them.
            yield self.of(lasting(kind, vars(value)))
            return
        try:
            reduced = value.__reduce_ex__(4)
        except Exception as error:
            raise Undescribable(kind.__name__) from error
        if isinstance(reduced, str):
            yield reduced
            if hasattr(value, "__wrapped__"):  # a function with a cache
                yield self.of(value.__wrapped__)
            return
        function, arguments, state, *items = (*reduced, None, None, None)[:5]
        state = lasting(kind, state) if isinstance(state, dict) else state
        yield from self.all([function, arguments, state, *(None if part is None else list(part) for part in items)])


Describe = Callable[[_Description, Any], Iterator[str]]
_EXACT: dict[type, tuple[type, Describe]] = {
    **{kind: (kind, _Description._sequence) for kind in (list, tuple)},
    **{kind: (kind, _Description._set) for kind in (set, frozenset)},
    **{kind: (kind, _Description._mapping) for kind in (dict, MappingProxyType)},
}


def _kinds() -> list[tuple[type, Describe]]:
    """Return the types of objects that are described in a way of their own."""
    kinds: list[tuple[type, Describe]] = []
    if torch := sys.modules.get("torch"):
        kinds.append((torch.Tensor, _Description._tensor))
    if numpy := sys.modules.get("numpy"):
        kinds += [(numpy.ndarray, _Description._array), (numpy.generic, _Description._array)]
    if torch:
        kinds.append((torch.nn.Module, _Description._module))
    kinds += [
        (FunctionType, _Description._function), (CodeType, _Description._code), (MethodType, _Description._method),
        (BuiltinFunctionType, _Description._builtin), (type, _Description._class), (ModuleType, _Description._library),
    ]  # fmt: skip
    if torch:
        kinds.append((torch.Generator, _Description._generator))
    return [*kinds, (Path, _Description._path)]
