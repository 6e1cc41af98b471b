"""Inputs: the kinds of things that users bring in files, each with its options, its loader and its checks."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from relulab.core.errors import UserError, nearest

Given = TypeVar("Given", bound="Input")


class Input(BaseModel):
    """A kind of thing that a user brings. Fields are its options, in the order in which they are asked for.

    On the command line a field ``data`` is the option ``--data``, and a field named in ``arguments`` stands without
    one. ``title`` says what the thing is, for people. The docstring below a field is its help.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    title: ClassVar[str]
    arguments: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def load(self) -> tuple[Any, ...]:
        """What the files hold, checked: the positional arguments of a check."""

    def allow(self, settings: Mapping[str, Any]) -> None:
        """Raises a UserError when settings make no sense with what was given."""

    @classmethod
    def given(cls: type[Given], **options: Any) -> Given:
        """The input of these options; a mistake becomes one sentence.

        Args:
            options: A value, or its text, for each option that was given.
        """
        try:
            return cls(**options)
        except ValidationError as error:
            raise UserError(_sentence(cls, error)) from None

    @classmethod
    def required(cls) -> list[str]:
        """The fields without a default."""
        return [name for name, field in cls.model_fields.items() if field.is_required()]


def _sentence(cls: type[Input], error: ValidationError) -> str:
    """The first mistake: which option, what was given, what was expected."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    if not name:  # a check of several options together, which says everything
        return first["msg"].removeprefix("Value error, ")
    shown = name.upper() if name in cls.arguments else f"--{name.replace('_', '-')}"
    if first["type"] == "extra_forbidden":
        return f"there is no option {shown}: {nearest(name, cls.model_fields)}"
    if first["type"] == "missing":
        return f"{shown} is needed"
    wish = first["msg"].partition(", unable")[0].removeprefix("Value error, ")
    return f"{shown} {first['input']}: {wish.replace('Input should be', 'it should be')}"
