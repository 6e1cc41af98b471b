"""Read assignments, classes, functions and constant values from the source of a module, without running it.

Importing a study takes seconds because it imports PyTorch. What ``relulab list`` and ``relulab show`` need is written
as plain constants, so it can be read from the source. Whatever is not plain raises ``NotWritten``.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from relulab.lab.index.constants import value_of
from relulab.lab.index.outline import parsed
from relulab.lab.index.problems import NotWritten

Node = TypeVar("Node", bound=ast.AST)
Bindings = dict[str, list[ast.stmt]]
"""The statements that bind each name."""


@dataclass(frozen=True)
class SourceCode:
    """The source of a module, and the folders of the packages that it may import from."""

    module: str
    roots: dict[str, Path] = field(hash=False)

    @property
    def path(self) -> Path:
        top, *parts = self.module.split(".")
        if top not in self.roots:
            raise NotWritten(f"{self.module} is in another package")
        path = self.roots[top].joinpath(*parts)
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    @property
    def tree(self) -> ast.Module:
        return parsed(self.path)

    def all(self, kind: type[Node]) -> Iterator[Node]:
        """Return the top-level statements of one kind."""
        return (node for node in self.tree.body if isinstance(node, kind))

    def binding(self, name: str) -> ast.stmt | None:
        """Return the only top-level statement that binds a name; None if there is none."""
        bound = bindings(self.tree)
        if len(bound.get(name, ())) > 1 or "*" in bound:  # the order in which they run is not known
            raise NotWritten(f"{self.module} sets {name} more than once")
        return bound[name][0] if name in bound else None

    def assigned(self, name: str) -> ast.expr:
        """Return the expression that is assigned to a name at the top level."""
        return assigned_in(self.binding(name), f"{self.module}: {name}")

    def origin(self, name: str) -> tuple["SourceCode", str]:
        """Return the module that defines a name used here, and the name in that module."""
        if self.module.partition(".")[0] not in self.roots:
            return self, name
        node = self.binding(name)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":  # as in a lazy package
            found = [each for each in node.body if isinstance(each, ast.ImportFrom) and name in _names(each)]
            node = found[0] if found else node
        if isinstance(node, ast.ImportFrom):
            alias = next(alias for alias in node.names if (alias.asname or alias.name) == name)
            return SourceCode(_absolute(self.module, node), self.roots).origin(alias.name)
        return self, name

    def definition(self, name: str, kind: type[Node]) -> tuple["SourceCode", Node]:
        """Return the class or function of a name used here, with the module that defines it."""
        home, name = self.origin(name)
        node = home.binding(name)
        if isinstance(node, kind) and getattr(node, "name", None) == name:
            return home, node
        raise NotWritten(f"{home.module} does not define {name}")

    def value(self, node: ast.expr | None) -> Any:
        """Return the value of an expression of constants."""
        return value_of(node, lambda name: _named_value(self, name))


@cache  # names that are computed from other names would otherwise be computed many times
def _named_value(code: SourceCode, name: str) -> Any:
    home, name = code.origin(name)
    return home.value(home.assigned(name))


@cache
def bindings(scope: ast.Module | ast.ClassDef) -> Bindings:
    """Return the statements of a module or class that bind each name, also inside ``if`` and similar blocks."""
    found: Bindings = {}
    for statement in scope.body:
        for name in dict.fromkeys(_names(statement)):
            found.setdefault(name, []).append(statement)
    return found


def assigned_in(statement: ast.stmt | None, what: str) -> ast.expr:
    """Return the expression of a plain assignment to one or more names."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    plain = isinstance(statement, ast.Assign | ast.AnnAssign) and all(isinstance(name, ast.Name) for name in targets)
    if not plain or statement.value is None:  # type: ignore[union-attr]
        raise NotWritten(f"{what} is not set by a plain assignment")
    return statement.value  # type: ignore[union-attr]


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds in its module or class."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        case ast.Assign():
            yield from (name for target in node.targets for name in _names(target))
        case ast.AnnAssign() | ast.AugAssign():
            yield from _names(node.target) if node.value else ()
        case ast.Name():
            yield from [node.id] if isinstance(node.ctx, ast.Store | ast.Del) else ()
        case ast.Expr() | ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return
        case _:
            yield from (name for child in ast.iter_child_nodes(node) for name in _names(child))


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """Return the absolute name of the module in an import statement, which may be relative."""
    if not node.level:
        return node.module or ""
    return ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])
