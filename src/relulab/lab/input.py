"""Inputs: the kinds of data that users provide in files, each with its options, its loader and its checks."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from relulab.core.errors import UserError, nearest
from relulab.lab.index.entry import option_name

Given = TypeVar("Given", bound="Input")


class Input(BaseModel):
    """The base class of inputs. The fields are its options, in the order of the help.

    On the command line a field ``data`` is the option ``--data``; a field named in ``arguments`` is a positional
    argument. ``title`` describes the input in a few words. The docstring below a field is its help text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    title: ClassVar[str]
    arguments: ClassVar[tuple[str, ...]] = ()

    _notes: list[str] = PrivateAttr(default_factory=list)

    @abstractmethod
    def load(self) -> tuple[Any, ...]:
        """Read and check the files, and return the positional arguments of a check."""

    def note(self, text: str) -> None:
        """Record what was assumed or left out when the files were read. It is shown with every answer.

        Args:
            text: The note, without a capital letter and a period.
        """
        if text not in self._notes:
            self._notes.append(text)

    @property
    def notes(self) -> list[str]:
        """What was assumed or left out when the files were read, as sentences."""
        return [f"{text[0].upper()}{text[1:]}." for text in self._notes]

    def allow(self, settings: Mapping[str, Any]) -> None:
        """Raise a UserError if these settings cannot be combined with the given options."""

    @classmethod
    def given(cls: type[Given], **options: Any) -> Given:
        """Return the input for these options; raise a UserError if one is missing, unknown or invalid.

        Args:
            options: The value of each option that was given, possibly as text.
        """
        try:
            return cls(**options)
        except ValidationError as error:
            raise UserError(_sentence(cls, error)) from None

    @classmethod
    def required(cls) -> list[str]:
        """Return the names of the fields without a default."""
        return [name for name, field in cls.model_fields.items() if field.is_required()]


def fitting_input(id: str, kinds: Sequence[type[Input]], options: Mapping[str, Any]) -> type[Input]:
    """Return the input that some options describe; raise a UserError if options are missing or do not fit.

    Args:
        id: The id of the theorem that is to be checked, for messages.
        kinds: The inputs that it can be checked on.
        options: The options that were given, by name.
    """
    if not kinds:
        raise UserError(f"{id} cannot be checked on files: run relulab check {id} without options")
    wanted = "; or ".join(_expected_options(kind) for kind in kinds)
    candidates = [kind for kind in kinds if set(kind.required()) <= set(options)]
    if not candidates:
        given = ", ".join(map(option_name, options)) or "only --set"
        raise UserError(f"a check of {id} on files needs {wanted}; got {given}")
    for kind in candidates:
        if set(options) <= set(kind.model_fields):
            return kind
    wrong = next(name for name in options if name not in candidates[0].model_fields)
    raise UserError(f"a check of {id} on files takes {wanted}: leave out {option_name(wrong)}")


def check_settings(id: str, known: Iterable[str], wanted: Iterable[str]) -> None:
    """Raise a UserError if the check of a theorem has no setting of some name.

    Args:
        id: The id of the theorem.
        known: The names of its settings.
        wanted: The names that were given.
    """
    known = list(known)
    for name in wanted:
        if name not in known:
            hint = nearest(name, known) if known else "this check takes no settings, leave out --set"
            raise UserError(f"{id} has no setting {name!r}: {hint}")


def _expected_options(kind: type[Input]) -> str:
    """Name the required and the optional options of an input."""
    *most, last = [option_name(name) for name in kind.required()] or ["no option"]
    required = f"{', '.join(most)} and {last}" if most else last
    optional = ", ".join(option_name(name) for name in kind.model_fields if name not in kind.required())
    return f"{required} (optional: {optional})" if optional else required


def _sentence(cls: type[Input], error: ValidationError) -> str:
    """Describe the first validation error: which option, what was expected, what was given."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    if not name:  # a check of several options together has a complete message
        return first["msg"].removeprefix("Value error, ")
    shown = name.upper() if name in cls.arguments else option_name(name)
    if first["type"] == "extra_forbidden":
        return f"unknown option {shown}: {nearest(name, cls.model_fields)}"
    if first["type"] == "missing":
        return f"{shown} is missing: add it"
    if expected := expected_value(first["msg"]):
        return f"{shown}: expected {expected}, got {first['input']}"
    return f"{shown} {first['input']}: {first['msg'].removeprefix('Value error, ')}"


def expected_value(message: str) -> str:
    """Return which value a validation message of Pydantic expects; "" if it does not say.

    >>> expected_value("Input should be a valid number, unable to parse string as a number")
    'a valid number'
    >>> expected_value("Input should be greater than 0"), expected_value("Value error, it is odd")
    ('a value greater than 0', '')
    """
    start, _, expected = message.partition(", unable")[0].partition(", got")[0].partition("Input should be ")
    if start or not expected:
        return ""
    return f"a value {expected}" if expected.startswith(("greater", "less")) else expected
