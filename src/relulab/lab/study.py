"""Studies: a figure or table of a paper as a frozen configuration with its units of work, figures and claims."""

from __future__ import annotations

import hashlib
import json
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from relulab.core.errors import UserError, nearest
from relulab.lab.claim import Claim
from relulab.lab.input import expected_value

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from relulab.lab.show.animation import Animation

Tick = Callable[[int], None]
"""A function to be called with the number of seed-steps done. The one that the engines pass to ``measure``
(``lab.run.engines.unit_tick``) also has the attributes ``device`` and ``checkpoint``: ``fit(…, tick=tick)`` trains on
that device and saves its state to that checkpoint."""


@dataclass(frozen=True)
class Unit:
    """An independent part of the work of a study.

    Args:
        name: The name, which is also used as a file name.
        values: What ``Study.measure`` needs to know, such as a block of seeds.
        seed_steps: Number of seed-steps, for the progress display.
        flops: Number of floating-point operations, for the time estimate.
    """

    name: str
    values: Mapping[str, Any] = field(hash=False)
    seed_steps: int = 0
    flops: float = 0.0


class Study(BaseModel):
    """A configuration that can be run. The base class of all studies.

    A subclass adds the setup as fields, with the paper's values as defaults, and implements ``units``, ``measure``,
    ``figures`` and ``claims``, and ``animations`` if it has any. ``presets`` change sizes only; the preset "paper" is
    the defaults. Increase ``version`` whenever a unit computes something else: the version is part of the name of a
    run, so that results of older code are not reused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    name: ClassVar[str]
    ids: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    source: ClassVar[str]
    remarks: ClassVar[str] = ""
    needs: ClassVar[str] = ""
    """the external data that the study needs and how to get them, if any; ``ready`` checks that they are available"""
    presets: ClassVar[dict[str, dict[str, Any]]]
    captions: ClassVar[dict[str, str]] = {}
    """for each figure and animation: what it shows, and which published figure it corresponds to"""
    version: ClassVar[int] = 1

    root: NonNegativeInt = 0
    """root seed of all random streams"""

    @abstractmethod
    def units(self) -> list[Unit]:
        """Return the independent units of work."""

    @abstractmethod
    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        """Compute one unit.

        Args:
            unit: The unit.
            tick: To be called with the number of seed-steps done, or passed on to ``fit``.
        """

    @abstractmethod
    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        """Return the figures by name, drawn from the joined results of all units."""

    @abstractmethod
    def claims(self, result: xr.Dataset) -> list[Claim]:
        """Return the claims, judged on the joined results of all units."""

    def animations(self, result: xr.Dataset) -> dict[str, Animation]:
        """Return the animations by name. A study has none by default."""
        return {}

    def ready(self) -> None:
        """Raise a UserError if something the units need is missing, such as a data set. Called before anything runs."""

    @property
    def hash(self) -> str:
        """Ten hexadecimal digits that identify the configuration and the study's version, or the code of its file."""
        code = _code(type(self))
        text = json.dumps([self.name, self.version, self.model_dump(mode="json"), *code], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    def differs(self, preset: str) -> dict[str, Any]:
        """Return the fields that differ from a preset, with their values."""
        unchanged = self.configured(preset).model_dump(mode="json")
        return {name: value for name, value in self.model_dump(mode="json").items() if value != unchanged[name]}

    def nearest_preset(self) -> str:
        """Return the preset that differs from this configuration in the fewest fields."""
        return min((*self.presets, "paper"), key=lambda preset: len(self.differs(preset)))

    @classmethod
    def configured(cls, preset: str = "quick", changes: Mapping[str, Any] | None = None) -> Study:
        """Return the study with a preset and some fields changed.

        Args:
            preset: "smoke", "quick" or "paper".
            changes: Values of fields that differ from the preset.

        Raises:
            UserError: If there is no such preset or field, or a value is invalid.
        """
        presets = {"paper": {}, **cls.presets}
        if preset not in presets:
            raise UserError(f"{cls.name} has no preset {preset!r}: {nearest(preset, presets)}")
        try:
            return cls(**{**presets[preset], **(changes or {})})
        except ValidationError as error:
            raise UserError(_sentence(cls, error)) from None


def _code(cls: type[Study]) -> list[str]:
    """Return a digest of the file that defines a study, if it is not in a package and so has no reliable version."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None or "." in cls.__module__ or getattr(module, "__package__", None):
        return []
    try:
        return [hashlib.sha256(Path(file).read_bytes()).hexdigest()]
    except OSError:
        return []


def _sentence(cls: type[Study], error: ValidationError) -> str:
    """Describe the first validation error in one sentence."""
    first = error.errors()[0]
    where = str(first["loc"][0]) if first["loc"] else cls.name
    if first["type"] == "extra_forbidden":
        return f"{cls.name} has no field {where!r}: {nearest(where, cls.model_fields)}"
    # A field that accepts several types has one error per type: join them into one.
    same = [e for e in error.errors() if e["loc"][:1] == first["loc"][:1] and e["input"] is first["input"]]
    path = ".".join([where, *(str(part) for part in first["loc"][1:] if isinstance(part, int))])
    if expected := " or ".join(dict.fromkeys(filter(None, (expected_value(e["msg"]) for e in same)))):
        return f"{cls.name}: field {path}: expected {expected}, got {first['input']!r}"
    return f"{cls.name}: field {path} = {first['input']!r}: {first['msg'].removeprefix('Value error, ')}"


def blocks(seeds: int, size: int) -> list[tuple[int, ...]]:
    """Divide the seeds 0, …, seeds − 1 into blocks that are trained together.

    >>> blocks(5, 2)
    [(0, 1), (2, 3), (4,)]
    """
    return [tuple(range(i, min(i + size, seeds))) for i in range(0, seeds, size)]


def distinct(values: tuple) -> tuple:
    """Validate a field whose values must all be different."""
    if len(set(values)) < len(values):
        raise ValueError("a value appears twice, remove the repetition")
    return values
