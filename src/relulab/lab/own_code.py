"""The code of a study that relulab reads from a user's file, and of the modules beside it that it imports.

A run is named after these bytes, so exactly these bytes must run, here and in the workers, even if a file is edited in
the meantime. Therefore they are read once, and imports of the study are answered from what was read. Modules get names
of their own, ``relulab_own_<digest>.helper``, so that an edited file and its earlier version can be used side by side.
"""

import builtins
import hashlib
import linecache
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from relulab.lab.own_files import shown_path

PREFIX = "relulab_own_"


@dataclass(frozen=True)
class OwnCode:
    """The files that a study consists of.

    Args:
        path: The file of the study.
        files: The contents of this file and of the imported ones, by their paths relative to its folder.
    """

    path: Path
    files: Mapping[str, bytes] = field(hash=False)

    @cached_property
    def digests(self) -> list[str]:
        """The digest of the study's file, then the names and digests of the modules beside it."""
        own, *others = [self.path.name, *sorted(self.files.keys() - {self.path.name})]
        return [_digest(self.files[own]), *(f"{name} {_digest(self.files[name])}" for name in others)]

    @cached_property
    def package(self) -> str:
        """The package that the modules are in."""
        return PREFIX + _digest("\n".join([str(self.path), *self.digests]).encode())[:16]

    @property
    def shown(self) -> str:
        """The path as the user would type it: relative to the current folder if it lies there."""
        return shown_path(self.path)

    def load(self) -> ModuleType:
        """Import the study's file, unless it has been imported."""
        FINDER.codes[self.package] = self
        return import_module(f"{self.package}.{self.path.stem}")

    def found(self, name: str) -> tuple[str, bytes, bool] | None:
        """Return the file and the content of a module, and whether it is a package; None if there is none."""
        place = name.replace(".", "/")
        if place == "" or (packed := f"{place}/__init__.py") in self.files:
            return (packed, self.files[packed], True) if place else ("", b"", True)
        if f"{place}.py" in self.files:
            return f"{place}.py", self.files[f"{place}.py"], False
        return ("", b"", True) if any(file.startswith(f"{place}/") for file in self.files) else None

    def importing(self) -> Callable[..., ModuleType]:
        """Return the ``__import__`` of these modules: it knows the modules beside the study by their usual names."""
        beside = {name.partition("/")[0].removesuffix(".py") for name in self.files}

        def load(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> ModuleType:
            top = name.partition(".")[0]
            if level or top not in beside:
                return builtins.__import__(name, globals, locals, fromlist, level)
            module = builtins.__import__(f"{self.package}.{name}", globals, locals, fromlist)
            return module if fromlist else sys.modules[f"{self.package}.{top}"]

        return load


class _Finder:
    """Python's hook for imports: it finds and runs the modules of every ``OwnCode`` that was loaded."""

    def __init__(self) -> None:
        self.codes: dict[str, OwnCode] = {}
        self.loading: list[OwnCode] = []
        """the code whose modules are being imported, the innermost last"""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        found = self.codes[package].found(name) if package in self.codes else None
        if found is None:
            return None
        file, _, is_package = found
        origin = str(self.codes[package].path.parent / file) if file else None
        spec = ModuleSpec(fullname, self, origin=origin, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = origin is not None
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        package, _, name = module.__name__.partition(".")
        code = self.codes[package]
        file, content, _ = code.found(name) or ("", b"", True)
        if not file:
            return
        origin = str(code.path.parent / file)
        lines = content.decode("utf-8", "replace").splitlines(keepends=True)
        # Tracebacks, and Pydantic in search of docstrings, read lines: of this code, not of an edited file.
        linecache.cache[origin] = (len(content), None, lines, origin)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": code.importing()}
        self.loading.append(code)
        try:
            exec(compile(content, origin, "exec", dont_inherit=True), module.__dict__)
        finally:
            self.loading.pop()


FINDER = _Finder()
sys.meta_path.insert(0, FINDER)  # type: ignore[arg-type]


def code_of(module_name: str) -> OwnCode | None:
    """Return the code of a module that was loaded by ``OwnCode.load``; None for others."""
    return FINDER.codes.get(module_name.partition(".")[0])


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
