"""Parts of a description: checksums, and what there is to compare in functions, classes and modules."""

import dis
import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator
from types import CellType, CodeType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")  # instructions that read a global name


def checksum(*parts: str) -> str:
    """Return one checksum of several texts."""
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()


def content(cell: CellType) -> Any:
    """Return the value of a name in the closure of a function."""
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return "empty"


def global_names(code: CodeType) -> set[str]:
    """Return the global names that a function and the functions in it read."""
    read = {step.argval for step in dis.get_instructions(code) if step.opname in GLOBAL}
    return read.union(*(global_names(inner) for inner in _inner(code)))


def names(code: CodeType) -> set[str]:
    """Return all names in the code of a function and of the functions in it, also those of attributes."""
    return set(code.co_names).union(*(names(inner) for inner in _inner(code)))


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def used_of(module: ModuleType, used: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield what a function with these names uses of a module that is not installed, and of the modules in it.

    The module may have been edited or reloaded since it was imported, so its file does not tell.
    """
    for name in sorted(used & vars(module).keys()):
        value = vars(module)[name]
        if not isinstance(value, ModuleType):
            yield name, value
        elif value.__name__.startswith(f"{module.__name__}."):
            yield from used_of(value, used)


def lasting(kind: type, state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes without cached properties, which depend on what was computed before."""
    return {
        name: value
        for name, value in state.items()
        if not isinstance(inspect.getattr_static(kind, name, None), functools.cached_property)
    }


def internal(name: str, part: Any) -> bool:
    """Whether an attribute of a class belongs to Python's machinery."""
    return name == "_abc_impl" or isinstance(part, MemberDescriptorType | GetSetDescriptorType)


def version(name: str) -> str:
    """Return the version of the package of a module."""
    return str(getattr(sys.modules.get(name.partition(".")[0]), "__version__", ""))
