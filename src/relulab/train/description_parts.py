"""Parts of a description: checksums, and what there is to compare in functions, classes and modules."""

import functools
import hashlib
import inspect
import sys
import sysconfig
from types import CellType, CodeType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
"""folders of Python and of installed packages"""


def checksum(*parts: str) -> str:
    """Return one checksum of several texts."""
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()


def content(cell: CellType) -> Any:
    """Return the value of a name in the closure of a function."""
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return "empty"


def names(code: CodeType) -> set[str]:
    """Return all names in the code of a function and of the functions in it, among them the global names."""
    inner = [names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


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


@functools.cache
def installed(name: str | None) -> bool:
    """Whether a module belongs to Python, to relulab or to an installed package."""
    top = (name or "").partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return top == "relulab" or top in sys.stdlib_module_names or file.startswith(INSTALLED)


def version(name: str) -> str:
    """Return the version of the package of a module."""
    return str(getattr(sys.modules.get(name.partition(".")[0]), "__version__", ""))
