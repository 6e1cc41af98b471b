"""Doors: packages whose public names are imported when they are first used.

A door writes its imports in the block ``if TYPE_CHECKING:``, where editors and type checkers read them, and takes
``__getattr__``, ``__dir__`` and ``__all__`` from ``opened``, which reads the same lines. So each name is written once,
and opening a package costs no import of PyTorch.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

LINE = re.compile(r"^    from (?P<module>[\w.]+) import \(?\s*(?P<name>\w+) as (?P=name),?\s*\)?$", re.MULTILINE)


def opened(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the imports that its file shows.

    >>> import relulab
    >>> relulab.Verdict.HOLDS.name, "MLP" in dir(relulab)
    ('HOLDS', True)
    """
    text = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
    where = {found["name"]: found["module"] for found in LINE.finditer(text)}

    def __getattr__(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = f"{where[name]}.{name}"
        # A package, such as relulab.bias, is a name of the folder it is in; everything else, of a module.
        found = (
            import_module(module) if where[name] == "relulab.subjects" else getattr(import_module(where[name]), name)
        )
        setattr(sys.modules[package], name, found)
        return found

    return __getattr__, lambda: sorted(where), list(where)
