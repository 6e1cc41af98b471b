"""Lazy packages: each public name is imported when it is first used.

A lazy package lists its imports in the block ``if TYPE_CHECKING:``, where editors and type checkers read them. It takes
``__getattr__``, ``__dir__`` and ``__all__`` from ``opened``, which reads the same lines. So each name is written once,
and importing the package does not import PyTorch. Public functions explain mistakes in their arguments (``explained``).
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

LINE = re.compile(r"^    from (?P<module>[\w.]+) import \(?\s*(?P<name>\w+) as (?P=name),?\s*\)?$", re.MULTILINE)


def opened(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package, from the imports listed in its file.

    Args:
        package: The name of the package, such as ``relulab``.

    >>> import relulab
    >>> relulab.Verdict.HOLDS.name, "MLP" in dir(relulab)
    ('HOLDS', True)
    """
    text = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
    modules = {line["name"]: line["module"] for line in LINE.finditer(text)}

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        # A subject, such as relulab.bias, is itself a package; every other name is an attribute of its module.
        is_subject = module == "relulab.subjects"
        value = import_module(f"{module}.{name}") if is_subject else _public(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__, lambda: sorted(modules), list(modules)


def _public(module: ModuleType, name: str) -> Any:
    """Return a function or class of a module, changed so that it explains mistakes in its arguments."""
    from relulab.core.explained import explained

    value = explained(getattr(module, name))
    setattr(module, name, value)  # so that pickle, which refers to functions by name, finds the same object
    return value
