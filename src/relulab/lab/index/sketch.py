"""Sketches: models with the fields that the index has read, which check values before anything slow is imported.

A sketch reports mistakes in the same words as the class itself. It knows the usual types and limits; a value of any
other type is left to the class, and so are validators.
"""

import ast
from collections.abc import Iterable
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Literal

import annotated_types
import pydantic

from relulab.io.guard import checked
from relulab.lab.index.entry import Entry, Option
from relulab.lab.input import Input
from relulab.lab.study import Study

PLAIN: dict[str, Any] = {"int": int, "float": float, "bool": bool, "str": str, "Path": Path}
LIMITS = ("Gt", "Ge", "Lt", "Le", "Len")
UNREAD = pydantic.ConfigDict(use_attribute_docstrings=False)  # reading the source of each class would take long


class _SketchedInput(Input):
    """An input without contents."""

    model_config = UNREAD

    def load(self) -> Any: ...


class _SketchedStudy(Study):
    """A study without contents."""

    model_config = UNREAD

    def units(self) -> Any: ...
    def measure(self, unit: Any, tick: Any) -> Any: ...
    def figures(self, result: Any) -> Any: ...
    def claims(self, result: Any) -> Any: ...


def study_sketch(entry: Entry) -> type[Study]:
    """Return the sketch of a study.

    Args:
        entry: The entry of the study.
    """
    details = entry.details
    attributes = {
        "name": entry.name, "ids": entry.ids, "title": entry.title, "source": entry.source,
        "presets": {name: fields for name, fields in details["presets"].items() if name != "paper"},
    }  # fmt: skip
    fields = {name: (_type(details["annotations"][name]), _tuple(value)) for name, value in details["fields"].items()}
    return _model(_SketchedStudy, attributes, fields)


def input_sketch(options: Iterable[Option], **attributes: Any) -> type[Input]:
    """Return the sketch of an input or a measurement.

    Args:
        options: Its options.
        attributes: Its class variables, such as ``title``.
    """
    fields = {each.name: (_type(each.annotation), ... if each.required else each.default) for each in options}
    return _model(_SketchedInput, attributes, fields)


def check_files(given: Input) -> None:
    """Raise a UserError if a file among the values of an input does not exist, is empty or cannot be read.

    Args:
        given: The input. Its fields of type Path are files to be read, or folders.
    """
    for value in vars(given).values():
        for path in value if isinstance(value, list | tuple) else [value]:
            if isinstance(path, Path) and not path.is_dir():
                checked(path)


def _model(base: type, attributes: dict[str, Any], fields: dict[str, Any]) -> Any:
    sketch = pydantic.create_model("Sketch", __base__=base, __module__=base.__module__, **fields)
    for name, value in attributes.items():
        setattr(sketch, name, value)
    return sketch


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def _type(annotation: str) -> Any:
    """Return the type that an annotation names, as far as it is known."""
    return _known(ast.parse(annotation, mode="eval").body)


def _known(node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name) if name in PLAIN:
            return PLAIN[name]
        case ast.Name(id=name) if name.startswith(("Positive", "Negative", "NonNegative", "NonPositive")):
            return getattr(pydantic, name, Any)
        case ast.Constant(value=None):
            return None
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            parts = _known(left), _known(right)
            return Any if Any in parts else reduce(or_, parts)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
            return Literal[_constants(choices)]  # pyrefly: ignore
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return list[_known(item)]  # type: ignore[misc]
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[item, ast.Constant(value=end)])):
            return tuple[_known(item), ...] if end is ... else Any  # type: ignore[misc]
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, *more])):
            limits = [limit for each in more for limit in _limits(each)]
            return Annotated[_known(kind), *limits] if limits else _known(kind)  # type: ignore[misc]
    return Any


def _constants(node: ast.expr) -> tuple[Any, ...]:
    return tuple(ast.literal_eval(each) for each in (node.elts if isinstance(node, ast.Tuple) else [node]))


def _limits(node: ast.expr) -> list[Any]:
    """Return a limit of constants in an annotation, such as ``Ge(2)``; none if it is something else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in LIMITS:
        return []
    try:
        values = [ast.literal_eval(value) for value in node.args]
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    except ValueError:  # a computed limit
        return []
    return [getattr(annotated_types, node.func.id)(*values, **named)]
