"""Entries of the index: what is needed to list, find and show an item."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["study", "theorem", "instrument", "measurement"]
ROOMS: dict[str, Kind] = {
    "studies": "study", "theorems": "theorem", "instruments": "instrument", "measurements": "measurement",
}  # fmt: skip


def option_name(field: str) -> str:
    """Return the option of the command line for a field.

    >>> option_name("my_field")
    '--my-field'
    """
    return f"--{field.replace('_', '-')}"


@dataclass(frozen=True)
class Subject:
    """A package with some of the folders ``studies``, ``theorems``, ``instruments`` and ``measurements``."""

    name: str
    package: str
    folder: Path
    title: str


@dataclass(frozen=True)
class Option:
    """A field of a study, an input or a measurement, as written in the source."""

    name: str
    annotation: str
    default: Any
    required: bool
    meaning: str

    @property
    def flag(self) -> bool:
        """Whether it is a yes/no option."""
        return self.annotation == "bool"

    @property
    def several(self) -> bool:
        """Whether it takes any number of values."""
        return self.annotation.startswith(("list[", "tuple["))


@dataclass(frozen=True)
class Entry:
    """A study, theorem, instrument or measurement. ``details`` depend on its kind; ``relulab show`` prints them."""

    kind: Kind
    subject: str
    module: str
    name: str
    ids: tuple[str, ...]
    title: str
    source: str
    about: str
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    from_source: bool = field(default=False, compare=False)
    """whether all of it was read from the source, as constants"""

    @property
    def names(self) -> tuple[str, ...]:
        """All names and ids that the command line accepts for it."""
        return tuple(dict.fromkeys((*self.ids, self.name, self.name.replace("_", "-"))))

    @property
    def row(self) -> dict[str, Any]:
        """The row in ``relulab list --json``."""
        presets = [*self.details["presets"]] if self.kind == "study" else []
        return {
            "kind": self.kind, "name": self.name, "ids": list(self.ids), "title": self.title, "presets": presets,
            "subject": self.subject,
        }  # fmt: skip
