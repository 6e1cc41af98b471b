"""The arguments of a function: which values are refused, and which one explains a failure."""

import ast
import inspect
import sys
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from relulab.core.annotations import kind_of, sequence_of
from relulab.core.argument_texts import argument_texts, first_sentence
from relulab.core.array_annotations import is_array_annotation, named_lengths
from relulab.core.errors import nearest
from relulab.core.kinds import ANYTHING, NUMBER_OR_NAN, Kind
from relulab.core.value_words import listed, shown

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Arguments:
    """The arguments of a function with their kinds.

    Args:
        function: The function.
        name: Its name in messages.
        documented: The function or class whose docstring describes the arguments.
        skipped: The number of first arguments that a user does not write, such as ``self``.
    """

    def __init__(self, function: Any, name: str, documented: Any, skipped: int = 0):
        self.name, self.skipped = name, skipped
        self.signature = inspect.signature(function)
        self.texts = argument_texts(documented.__doc__)
        self.hints = _hints(function)
        parameters = dict(list(self.signature.parameters.items())[skipped:])
        self.parameters: dict[str, inspect.Parameter] = parameters
        with_nan = getattr(documented, "__may_be_nan__", ())
        kinds = {key: _kind(self.hints.get(key, Any), key in with_nan) for key in parameters}
        self.kinds: dict[str, Kind] = kinds
        unchecked = getattr(documented, "__checks_itself__", ())
        stored = isinstance(documented, type) and issubclass(documented, tuple)  # a named tuple converts nothing
        checks = {key: (ANYTHING if key in unchecked else kind).accepts for key, kind in kinds.items()}
        if stored:
            checks |= {key: kinds[key].exact for key in kinds if self._is_array(key)}
        skip = [("", ANYTHING.accepts)] * skipped
        self.positional = [*skip, *((key, checks[key]) for key, p in parameters.items() if p.kind in POSITIONAL)]
        self.rest = next((key for key, p in parameters.items() if p.kind is p.VAR_POSITIONAL), None)
        self.named = {key: check for key, check in checks.items() if key != self.rest}

    def refused(self, args: tuple, kwargs: dict[str, Any]) -> str | None:
        """Return a sentence on the first argument that cannot be meant, or None."""
        for (key, accepts), value in zip(self.positional, args, strict=False):
            if not accepts(value):
                return self._sentence(key, value)
        for key, value in kwargs.items():
            if key in self.named and not self.named[key](value):
                return self._sentence(key, value)
        if self.rest is not None:
            for value in args[len(self.positional) :]:
                if not self.kinds[self.rest].accepts(value):
                    return self._sentence(self.rest, value)
        return None

    def explanation(self, args: tuple, kwargs: dict[str, Any]) -> str | None:
        """Return a sentence on the argument that explains why a call failed, or None if there is none."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            return self._unbound(len(args) - self.skipped, kwargs)
        given = list(self._given(bound))
        for key, value in given:
            if not self.kinds[key].exact(value):
                return self._sentence(key, value)
        return self._unequal(dict(given))

    def _given(self, bound: inspect.BoundArguments) -> Iterator[tuple[str, Any]]:
        for key, value in bound.arguments.items():
            if key == self.rest:
                yield from ((key, one) for one in value)
            elif key in self.kinds and self.parameters[key].kind is not inspect.Parameter.VAR_KEYWORD:
                yield key, value

    def _is_array(self, key: str) -> bool:
        return is_array_annotation(self.hints.get(key))

    def _sentence(self, key: str, value: Any) -> str:
        text = f": {first_sentence(self.texts[key])}" if key in self.texts else ""
        return f"{self.name}: expected {key} to be {self.kinds[key].words}, got {shown(value)}{text}"

    def _unequal(self, given: dict[str, Any]) -> str | None:
        """Return a sentence on two arrays in which an axis of the same name has different lengths."""
        lengths: dict[str, tuple[str, int]] = {}
        for key, value in given.items():
            for axis, length in named_lengths(self.hints[key], value).items() if self._is_array(key) else ():
                other, known = lengths.setdefault(axis, (key, length))
                if known != length:
                    got = listed([f"{name} of shape {tuple(given[name].shape)}" for name in (other, key)], "and")
                    hint = listed([f"{name} must be {self.kinds[name].words}" for name in (other, key)], "and")
                    return f"{self.name}: expected {other} and {key} to have the same {axis}, got {got}: {hint}"
        return None

    def _unbound(self, count: int, kwargs: dict[str, Any]) -> str | None:
        """Return a sentence on arguments that are missing, unknown, or given twice."""
        positional = [key for key, p in self.parameters.items() if p.kind in POSITIONAL]
        for key in kwargs:
            if key not in self.parameters:
                known = nearest(key, self.parameters) if self.parameters else "leave it out"
                return f"{self.name} has no argument {key!r}: {known}"
        if count > len(positional) and self.rest is None:
            more = [key for key in self.parameters if key not in positional]
            names = f" ({', '.join(positional)})" if positional else ""
            hint = f"write the others by name, such as {more[0]}=…" if more else "leave out the others"
            if not self.parameters:
                return f"{self.name} takes no arguments, got {count}: leave them out"
            return f"{self.name} takes at most {len(positional)} arguments by position{names}, got {count}: {hint}"
        for key in positional[:count]:
            if key in kwargs:
                return f"{self.name} got {key} twice, by position and by name: leave out one of them"
        given = {*positional[:count], *kwargs}
        needed = [key for key, p in self.parameters.items() if p.default is p.empty and p.kind < p.VAR_KEYWORD]
        missing = [key for key in needed if key not in given and key != self.rest]
        if not missing:
            return None
        text = f", {first_sentence(self.texts[missing[0]])}" if missing[0] in self.texts else ""
        return f"{self.name} needs {listed(missing, 'and')}: {missing[0]} is {self.kinds[missing[0]].words}{text}"


def _kind(hint: Any, with_nan: bool) -> Kind:
    if not with_nan:
        return kind_of(hint)
    return NUMBER_OR_NAN if hint is float else sequence_of(NUMBER_OR_NAN)


def _hints(function: Any) -> dict[str, Any]:
    function = inspect.unwrap(function)
    try:
        return typing.get_type_hints(function)
    except NameError:
        names = _for_type_checkers(sys.modules.get(function.__module__))
    except (TypeError, AttributeError):
        names = {}
    try:
        return typing.get_type_hints(function, localns=names)
    except (NameError, TypeError, AttributeError):
        return dict(getattr(function, "__annotations__", {}))


def _for_type_checkers(module: Any) -> dict[str, Any]:
    """Return the names that a module imports in a block ``if TYPE_CHECKING:``."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):
        return {}
    blocks = [node.body for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [line for block in blocks for line in block if isinstance(line, ast.ImportFrom) and line.module]
    return {
        name.asname or name.name: getattr(import_module(str(line.module)), name.name)
        for line in imports
        for name in line.names
    }
