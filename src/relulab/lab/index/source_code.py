"""Read assignments, classes, functions and constant values from the source of a module, without running it.

Importing a study takes seconds because it imports PyTorch. What ``relulab list`` and ``relulab show`` need is written
as plain constants, so it can be read from the source.
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
# Limits, so that no expression takes long to evaluate:
LARGEST, LONGEST = 1e9, 10_000  # largest base of a power, largest length of a range


DEF = re.compile(r" *(async )?def \w")
HEAD = re.compile(r"(\)|\]|\w|\"|'):\s*(#.*)?$")  # the end of a function's first line
QUOTE = re.compile(r"\s*r?(?P<mark>\"\"\"|\"|')(?P<end>.+(?P=mark)\s*$)?")


class NotWritten(Exception):
    """A value that is computed, so that it can only be determined by an import."""


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
        return _parsed(self.path)

    def all(self, kind: type[Node]) -> Iterator[Node]:
        """Return the top-level statements of one kind."""
        return (node for node in self.tree.body if isinstance(node, kind))

    def assigned(self, name: str) -> ast.expr:
        """Return the expression that is assigned to a name at the top level."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
                return node.value
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and node.value:
                return node.value
        raise NotWritten(f"{self.module} does not set {name}")

    def origin(self, name: str) -> tuple["SourceCode", str]:
        """Return the module that defines a name used here, and the name in that module."""
        for node in self.all(ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return SourceCode(_absolute(self.module, node), self.roots).origin(alias.name)
        return self, name

    def definition(self, name: str, kind: type[Node]) -> tuple["SourceCode", Node]:
        """Return the class or function of a name used here, with the module that defines it."""
        home, name = self.origin(name)
        for node in home.all(kind):
            if getattr(node, "name", None) == name:
                return home, node
        raise NotWritten(f"{home.module} does not define {name}")

    def value(self, node: ast.expr | None) -> Any:
        """Return the value of an expression of constants."""
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
        numbers = range(*ends)
        if len(numbers) > LONGEST:
            raise NotWritten(f"{self.module}: {numbers} is too long")
        return numbers

    def _dictionary(self, node: ast.Dict) -> dict:
        items: dict = {}
        for key, item in zip(node.keys, node.values, strict=True):
            items |= self.value(item) if key is None else {self.value(key): self.value(item)}
        return items

    def _operation(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Pow) and not (abs(left) < LARGEST and abs(right) < 100):
            raise NotWritten(f"{self.module}: {ast.unparse(node)} is too large")
        try:
            return OPERATIONS[type(node.op)](left, right)
        except (KeyError, TypeError, ArithmeticError):
            raise NotWritten(f"{self.module}: {ast.unparse(node)} is computed") from None


@cache
def _parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file without the bodies of its functions, which would take most of the time."""
    try:
        text = path.read_text(encoding="utf-8")
        try:
            return ast.parse(outline(text))
        except SyntaxError:  # a function with unusual formatting
            return ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotWritten(f"{path}: {error}") from None


def outline(text: str) -> str:
    """Return the text with the bodies of functions removed, except their docstrings.

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
        if not HEAD.search(line) and line.count("(") == line.count(")"):  # a function on one line
            line = next(lines, None)
            continue
        while line is not None and not HEAD.search(line):  # the signature may take several lines
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
    """Return the absolute name of the module in an import statement, which may be relative."""
    if not node.level:
        return node.module or ""
    return ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])
