"""The values of expressions of constants, computed without running the module that they are in."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Sized
from typing import Any

from relulab.lab.index.problems import NotWritten, TooLarge

Names = Callable[[str], Any]
"""Returns the value of a name."""

OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
}
VERDICTS = ("HOLDS", "REFUTED", "NOT_APPLICABLE", "INCONCLUSIVE")
# Limits, so that no expression takes long to evaluate. What is longer can be imported, what is huge cannot.
LARGEST, LONGEST, HUGE = 1e9, 10_000, 10_000_000  # base of a power; items or characters; items, characters or bits


def value_of(node: ast.expr | None, names: Names) -> Any:
    """Return the value of an expression of constants.

    Args:
        node: The expression.
        names: Returns the value of a name.

    Raises:
        NotWritten: If the value is computed.
    """
    value = _value(node, names)
    if isinstance(value, Sized) and len(value) > LONGEST:
        raise NotWritten("a value is too long")
    return value


def _value(node: ast.expr | None, names: Names) -> Any:
    match node:
        case ast.Constant() if node.value is not ...:
            return node.value
        case ast.Tuple() | ast.List():
            items = [value for item in node.elts for value in _items(item, names)]
            return tuple(items) if isinstance(node, ast.Tuple) else items
        case ast.Dict():
            return _dictionary(node, names)
        case ast.Name():
            return names(node.id)
        case ast.UnaryOp(op=ast.USub()):
            return -value_of(node.operand, names)
        case ast.BinOp():
            return _operation(node, names)
        case ast.JoinedStr():
            return "".join(str(value_of(part, names)) for part in node.values)
        case ast.FormattedValue(conversion=-1):
            return _formatted(node, names)
        case ast.Attribute(value=ast.Name(id="math"), attr="pi" | "inf" | "e"):
            return getattr(math, node.attr)
        case ast.Attribute(value=ast.Name(id="Verdict")) if node.attr in VERDICTS:
            return node.attr
        case ast.Call(func=ast.Name(id="Field"), args=[default]) if not _named_by(node, "description", "alias"):
            return value_of(default, names)
        case ast.Call(func=ast.Name(id="range"), keywords=[]):
            return _short(range(*(value_of(argument, names) for argument in node.args)))
        case ast.Call(func=ast.Name(id="tuple"), args=[items], keywords=[]):
            return tuple(value_of(items, names))
    raise NotWritten(f"{ast.unparse(node) if node else 'nothing'} is computed")


def _named_by(call: ast.Call, *names: str) -> bool:
    return any(keyword.arg is None or keyword.arg in names for keyword in call.keywords)


def _items(node: ast.expr, names: Names) -> Iterable[Any]:
    return value_of(node.value, names) if isinstance(node, ast.Starred) else [value_of(node, names)]


def _dictionary(node: ast.Dict, names: Names) -> dict:
    items: dict = {}
    for key, item in zip(node.keys, node.values, strict=True):
        items |= value_of(item, names) if key is None else {value_of(key, names): value_of(item, names)}
    return items


def _formatted(node: ast.FormattedValue, names: Names) -> str:
    spec = value_of(node.format_spec, names) if node.format_spec else ""
    if any(int(width) > LONGEST for width in re.findall(r"\d+", spec)):
        raise TooLarge(f"{ast.unparse(node.value)} is formatted with a width of {spec}")
    return format(value_of(node.value, names), spec)


def _operation(node: ast.BinOp, names: Names) -> Any:
    left, right = value_of(node.left, names), value_of(node.right, names)
    if isinstance(node.op, ast.Pow):
        _check_power(node, left, right)
    if isinstance(node.op, ast.Mult):
        for items, times in ((left, right), (right, left)):
            if isinstance(items, Sized) and isinstance(times, int):
                _check_length(len(items) * times, ast.unparse(node))
    try:
        return OPERATIONS[type(node.op)](left, right)
    except (KeyError, TypeError, ArithmeticError):
        raise NotWritten(f"{ast.unparse(node)} is computed") from None


def _check_power(node: ast.BinOp, left: Any, right: Any) -> None:
    if not (abs(left) < LARGEST and abs(right) < 100):
        huge = isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > HUGE
        raise (TooLarge if huge else NotWritten)(f"{ast.unparse(node)} is too large")


def _short(numbers: range) -> range:
    _check_length(len(numbers), str(numbers))
    return numbers


def _check_length(length: int, text: str) -> None:
    if length > LONGEST:
        raise (TooLarge if length > HUGE else NotWritten)(f"{text} is too long")
