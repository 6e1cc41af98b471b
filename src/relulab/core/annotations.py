"""Annotations as checks: what a type of an argument accepts, and how to say it in words."""

import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

from relulab.core.array_annotations import array_kind, is_array_annotation, is_real, like_an_array
from relulab.core.callables import function_kind
from relulab.core.kinds import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    NOTHING,
    NUMBER,
    NUMBER_OR_NAN,
    PATH,
    TEXT,
    TEXTS,
    Check,
    Kind,
    is_module,
)  # fmt: skip
from relulab.core.value_words import article, listed

MOST = 1000  # elements of a sequence that are checked


def kind_of(annotation: Any) -> Kind:
    """Return what an annotation accepts; everything, if it is of no known form.

    Args:
        annotation: A class, a union, a ``Literal``, a container of these, or an array of jaxtyping.

    >>> kind_of(Sequence[int]).words, kind_of(Sequence[int]).accepts("text"), kind_of(float | None).accepts(None)
    ('a sequence of integers', False, True)
    """
    if is_array_annotation(annotation):
        return array_kind(annotation)
    if isinstance(annotation, typing.TypeVar):
        return ANYTHING if annotation.__bound__ is None else kind_of(annotation.__bound__)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is typing.Annotated:
        return kind_of(arguments[0])
    if origin is typing.Literal:
        return _literal(arguments)
    if origin is type:
        return Kind("a class", "classes", lambda value: isinstance(value, type))
    if origin is tuple:
        return _tuple(arguments)
    if origin in (Sequence, Iterable, list):
        return sequence_of(kind_of(arguments[0]))
    if origin is Callable:
        return function_kind(arguments[0])
    return _of_class(origin if isinstance(origin, type) else annotation)


def _of_class(kind: Any) -> Kind:
    if kind in PLAIN:
        return PLAIN[kind]
    if not isinstance(kind, type) or kind is object:
        return ANYTHING
    package = kind.__module__.partition(".")[0]
    if package in ("torch", "numpy") and kind.__name__ in ("Tensor", "ndarray"):
        name = "tensor" if kind.__name__ == "Tensor" else "array"
        return Kind(
            article(name), f"{name}s", lambda value: not isinstance(value, Real) and like_an_array(value),
            lambda value: isinstance(value, kind) and is_real(value),
        )  # fmt: skip
    if kind.__module__.startswith("numpy.random"):  # RandomState has the same methods
        return Kind("a NumPy random generator", "random generators", lambda value: hasattr(value, "standard_normal"))
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        return Kind("a data type such as torch.float64", "data types", lambda value: isinstance(value, kind))
    return Kind(_name(kind), f"{kind.__name__} objects", _instance(kind), _fields(kind))


def _name(kind: type) -> str:
    prefix = "torch.nn." if kind.__module__.startswith("torch.nn") else ""
    prefix = "torch." if kind.__module__ == "torch" else prefix
    return article(kind.__name__).replace(kind.__name__, f"{prefix}{kind.__name__}")


def _instance(kind: type) -> Check:
    if getattr(kind, "_is_protocol", False):
        # A class has the methods of its objects, so it would pass as one of them.
        runtime = getattr(kind, "_is_runtime_protocol", False)
        return lambda value: not isinstance(value, type) and (not runtime or isinstance(value, kind))
    return lambda value: isinstance(value, kind)


def _fields(kind: type) -> Check | None:
    """Return the exact check of a named tuple, which also checks its fields."""
    if not (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return None
    hints = typing.get_type_hints(kind)
    kinds = [kind_of(hints.get(name, Any)) for name in kind._fields]
    return lambda value: isinstance(value, kind) and all(map(lambda part, field: part.exact(field), kinds, value))


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (list, tuple, range)):
        return True
    if isinstance(value, (*TEXTS, Mapping, type, Real)) or is_module(value):
        return False
    if hasattr(value, "dtype"):
        return getattr(value, "ndim", 0) > 0 and "complex" not in str(value.dtype)
    return isinstance(value, Collection) or hasattr(value, "__array__")


def sequence_of(element: Kind) -> Kind:
    """Return the kind of a sequence.

    Args:
        element: The kind of its elements.
    """
    numbers = element in (INTEGER, NUMBER, NUMBER_OR_NAN, BOOLEAN)

    def check(of_element: Check) -> Check:
        def sequence(value: Any) -> bool:
            if not _is_sequence(value):
                return False
            if isinstance(value, range):
                return of_element(0)
            if hasattr(value, "dtype") and numbers and not (value.ndim == 1 and is_real(value)):
                return False
            if hasattr(value, "dtype") and not len(value):
                return numbers
            return all(of_element(part) for part, _ in zip(value, range(MOST), strict=False))

        return sequence

    words = f"a sequence of {element.plural}" if element.plural else "a sequence"
    return Kind(words, "sequences", check(element.accepts), check(element.exact))


def _tuple(arguments: tuple[Any, ...]) -> Kind:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return sequence_of(kind_of(arguments[0]))
    parts = [kind_of(argument) for argument in arguments]

    def check(value: Any) -> bool:
        return _is_sequence(value) and len(value) == len(parts) and all(map(lambda k, v: k.accepts(v), parts, value))

    return Kind(f"a tuple of {listed([part.words for part in parts], 'and')}", "tuples", check)


def _literal(values: tuple[Any, ...]) -> Kind:
    words = listed([repr(value) for value in values])
    return Kind(words, words, lambda value: any(type(value) is type(known) and value == known for known in values))


def _union(members: Sequence[Any]) -> Kind:
    kinds = [kind_of(member) for member in members]
    accepts = tuple(kind.accepts for kind in kinds)
    return Kind(
        _union_words(kinds),
        listed(list(dict.fromkeys(kind.plural for kind in kinds if kind.plural)) or ["values"]),
        lambda value: any(accept(value) for accept in accepts),
        lambda value: any(kind.exact(value) for kind in kinds),
    )


def _union_words(kinds: Sequence[Kind]) -> str:
    words = list(dict.fromkeys(kind.words for kind in kinds))
    if {"a tensor", "a sequence"} <= set(words):  # real numbers in any form
        forms = ("a tensor", "an array", "a sequence", "a number")
        others = [word for word in words if word not in forms and " tensor " not in word]
        words = ["numbers (a tensor, an array or lists)", *others]
    if {TEXT.words, PATH.words} <= set(words):
        words.remove(TEXT.words)
    for word in words:  # the same array as a tensor and as an array of NumPy
        same = word.replace("a tensor ", "an array ").replace(" tensor ", " array ")
        if same in words and same != word:
            words.remove(same)
            words[words.index(word)] = word.replace(" tensor ", " tensor or array ")
    return listed(sorted(words, key=lambda word: word == "None"))


PLAIN: dict[Any, Kind] = {
    Any: ANYTHING,
    type(None): NOTHING,
    bool: BOOLEAN,
    int: INTEGER,
    float: NUMBER,
    str: TEXT,
    Path: PATH,
    Callable: function_kind(...),
    Sequence: Kind("a sequence", "sequences", _is_sequence),
    Mapping: Kind("a dictionary", "dictionaries", lambda value: isinstance(value, Mapping)),
}
