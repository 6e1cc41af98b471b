"""A module's source, read but not run: its assignments, classes and functions, and the values that are written out.

Importing a study costs seconds, because PyTorch comes with it. What ``relulab list`` and ``relulab show`` need to know
is written as plain constants, so it is read from the text.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)
OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
}
# The text of a file must not keep the reader busy:
LARGEST, LONGEST = 1e9, 10_000  # base of a power, numbers of a range


DEF = re.compile(r" *(async )?def \w")
HEAD = re.compile(r"(\)|\]|\w|\"|'):\s*(#.*)?$")  # the end of a function's first line
QUOTE = re.compile(r"\s*r?(?P<mark>\"\"\"|\"|')(?P<end>.+(?P=mark)\s*$)?")


class NotWritten(Exception):
    """A value that is computed, so that only an import can tell it."""


@dataclass(frozen=True)
class SourceCode:
    """The text of a module, and the folders of the packages whose modules it may refer to."""

    module: str
    roots: dict[str, Path] = field(hash=False)

    @property
    def path(self) -> Path:
        top, *parts = self.module.split(".")
        if top not in self.roots:
            raise NotWritten(f"{self.module} belongs to another package")
        path = self.roots[top].joinpath(*parts)
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.path)

    def all(self, kind: type[Node]) -> Iterator[Node]:
        """The statements of one kind at the top of the module."""
        return (node for node in self.tree.body if isinstance(node, kind))

    def assigned(self, name: str) -> ast.expr:
        """The expression that a name is set to at the top of the module."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
                return node.value
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and node.value:
                return node.value
        raise NotWritten(f"{self.module} does not set {name}")

    def origin(self, name: str) -> tuple["SourceCode", str]:
        """The module that defines a name used here, and what it is called there."""
        for node in self.all(ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return SourceCode(_absolute(self.module, node), self.roots).origin(alias.name)
        return self, name

    def definition(self, name: str, kind: type[Node]) -> tuple["SourceCode", Node]:
        """The class or function of a name used here, with the module that defines it."""
        home, name = self.origin(name)
        for node in home.all(kind):
            if getattr(node, "name", None) == name:
                return home, node
        raise NotWritten(f"{home.module} does not define {name}")

    def value(self, node: ast.expr | None) -> Any:
        """The value of an expression of constants."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Tuple() | ast.List():
                items = [value for item in node.elts for value in self._items(item)]
                return tuple(items) if isinstance(node, ast.Tuple) else items
            case ast.Dict():
                return self._dictionary(node)
            case ast.Name():
                home, name = self.origin(node.id)
                return home.value(home.assigned(name))
            case ast.UnaryOp(op=ast.USub()):
                return -self.value(node.operand)
            case ast.BinOp():
                return self._operation(node)
            case ast.JoinedStr():
                return "".join(str(self.value(part)) for part in node.values)
            case ast.FormattedValue(conversion=-1):
                return format(self.value(node.value), self.value(node.format_spec) if node.format_spec else "")
            case ast.Attribute(value=ast.Name(id="math"), attr="pi" | "inf" | "e"):
                return getattr(math, node.attr)
            case ast.Attribute(value=ast.Name(id="Verdict")):
                return node.attr
            case ast.Call(func=ast.Name(id="Field")) if node.args:
                return self.value(node.args[0])
            case ast.Call(func=ast.Name(id="range"), keywords=[]):
                return self._range([self.value(argument) for argument in node.args])
            case ast.Call(func=ast.Name(id="tuple"), args=[items], keywords=[]):
                return tuple(self.value(items))
        raise NotWritten(f"{self.module}: {ast.unparse(node) if node else 'nothing'} is computed")

    def _items(self, node: ast.expr) -> Iterable[Any]:
        return self.value(node.value) if isinstance(node, ast.Starred) else [self.value(node)]

    def _range(self, ends: list[int]) -> range:
        found = range(*ends)
        if len(found) > LONGEST:
            raise NotWritten(f"{self.module}: {found} is too long")
        return found

    def _dictionary(self, node: ast.Dict) -> dict:
        found: dict = {}
        for key, item in zip(node.keys, node.values, strict=True):
            found |= self.value(item) if key is None else {self.value(key): self.value(item)}
        return found

    def _operation(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Pow) and not (abs(left) < LARGEST and abs(right) < 100):
            raise NotWritten(f"{self.module}: {ast.unparse(node)} is too large a power")
        try:
            return OPERATIONS[type(node.op)](left, right)
        except (KeyError, TypeError, ArithmeticError):
            raise NotWritten(f"{self.module}: {ast.unparse(node)} is computed") from None


@cache
def _parsed(path: Path) -> ast.Module:
    """The syntax tree of a file, without what its functions do: that is most of the text, and most of the time."""
    try:
        text = path.read_text(encoding="utf-8")
        try:
            return ast.parse(outline(text))
        except SyntaxError:  # a function that is written in an unusual way
            return ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotWritten(f"{path}: {error}") from None


def outline(text: str) -> str:
    """The text with functions cut down to their first lines and docstrings.

    >>> print(outline("def f(x):\\n    'doc'\\n    return x\\nA = 1"))
    def f(x):
        'doc'
        pass
    A = 1
    """
    kept: list[str] = []
    lines = iter(text.split("\n"))
    line = next(lines, None)
    while line is not None:
        kept.append(line)
        if not DEF.match(line):
            line = next(lines, None)
            continue
        depth = len(line) - len(line.lstrip())
        if not HEAD.search(line) and line.count("(") == line.count(")"):  # all of it in one line
            line = next(lines, None)
            continue
        while line is not None and not HEAD.search(line):  # the arguments may go over several lines
            line = next(lines, None)
            kept += [line] if line is not None else []
        line = next(lines, None)
        if line is not None and (quote := QUOTE.match(line)):
            kept.append(line)
            ended = bool(quote["end"])
            while not ended:
                line = next(lines, None)
                kept += [line] if line is not None else []
                ended = line is None or line.rstrip().endswith(quote["mark"])
            line = next(lines, None)
        while line is not None and (not line.strip() or len(line) - len(line.lstrip()) > depth):
            line = next(lines, None)
        kept.append(f"{' ' * depth}    pass")
    return "\n".join(kept)


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """The module that an import names; leading dots count from the module's own package."""
    if not node.level:
        return node.module or ""
    return ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])
