"""Studies: a figure or table of the papers as a frozen configuration that knows its units, figures and claims."""

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

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from relulab.lab.show.animation import Animation

Tick = Callable[[int], None]
"""Told of seed-steps done. The one that the lab hands out (``lab.run.engines.unit_tick``) also has ``device``, where to
compute, and ``checkpoint``, where a training keeps its state: ``fit(…, tick=tick)`` makes use of both."""


@dataclass(frozen=True)
class Unit:
    """An independent piece of a study's work. ``name`` is also a file name; cost is told in seed-steps and flops."""

    name: str
    values: Mapping[str, Any] = field(hash=False)
    seed_steps: int = 0
    flops: float = 0.0


class Study(BaseModel):
    """Subclasses add fields (the setup, the paper's values as defaults) and the four methods; animations if they like.

    ``presets`` change sizes only; "paper" is the defaults. ``version`` counts changes of what a unit computes: it is
    part of a run's name, so results of older code are not mistaken for new ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    name: ClassVar[str]
    ids: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    source: ClassVar[str]
    remarks: ClassVar[str] = ""
    needs: ClassVar[str] = ""
    """data that do not come with relulab and how to get them, if a study needs any; ``ready`` looks for them"""
    presets: ClassVar[dict[str, dict[str, Any]]]
    captions: ClassVar[dict[str, str]] = {}
    """for each figure and animation, what to see in it and which printed figure it answers"""
    version: ClassVar[int] = 1

    root: NonNegativeInt = 0
    """root of all random streams"""

    @abstractmethod
    def units(self) -> list[Unit]: ...

    @abstractmethod
    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset: ...

    @abstractmethod
    def figures(self, result: xr.Dataset) -> dict[str, Figure]: ...

    @abstractmethod
    def claims(self, result: xr.Dataset) -> list[Claim]: ...

    def animations(self, result: xr.Dataset) -> dict[str, Animation]:
        """Figures that move, by name; none unless a study has some."""
        return {}

    def ready(self) -> None:
        """Raises a UserError when what the units need is not there, such as data sets; asked before anything runs."""

    @property
    def hash(self) -> str:
        """Ten digits that stand for the whole configuration and the study's version, or its code if it is a file."""
        code = _code(type(self))
        text = json.dumps([self.name, self.version, self.model_dump(mode="json"), *code], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    def differs(self, preset: str) -> dict[str, Any]:
        """The fields whose values are not the preset's."""
        plain = self.configured(preset).model_dump(mode="json")
        return {name: value for name, value in self.model_dump(mode="json").items() if value != plain[name]}

    def nearest_preset(self) -> str:
        """The preset that this configuration differs least from."""
        return min((*self.presets, "paper"), key=lambda preset: len(self.differs(preset)))

    @classmethod
    def configured(cls, preset: str = "quick", changes: Mapping[str, Any] | None = None) -> Study:
        """The study on a preset, with some fields changed; mistakes become one sentence."""
        presets = {"paper": {}, **cls.presets}
        if preset not in presets:
            raise UserError(f"{cls.name} has no preset {preset!r}: {nearest(preset, presets)}")
        try:
            return cls(**{**presets[preset], **(changes or {})})
        except ValidationError as error:
            raise UserError(_sentence(cls, error)) from None


def _code(cls: type[Study]) -> list[str]:
    """A digest of the file that a study is defined in, if it is in no package: nobody counts its versions."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None or "." in cls.__module__ or getattr(module, "__package__", None):
        return []
    try:
        return [hashlib.sha256(Path(file).read_bytes()).hexdigest()]
    except OSError:
        return []


def _sentence(cls: type[Study], error: ValidationError) -> str:
    first = error.errors()[0]
    where = str(first["loc"][0]) if first["loc"] else cls.name
    if first["type"] == "extra_forbidden":
        return f"{cls.name} has no field {where!r}: {nearest(where, cls.model_fields)}"
    # A field that takes several types has an error for each of them; say them as one wish.
    same = [e for e in error.errors() if e["loc"][:1] == first["loc"][:1] and e["input"] is first["input"]]
    path = ".".join([where, *(str(part) for part in first["loc"][1:] if isinstance(part, int))])
    wishes = (e["msg"].partition(", unable")[0].removeprefix("Value error, ") for e in same)
    wish = " or ".join(dict.fromkeys(w.removeprefix("Input should be ") for w in wishes))
    verb = "it should be " if first["msg"].startswith("Input should be ") else ""
    return f"{cls.name}: {path} = {first['input']!r} was given; {verb}{wish}"


def blocks(seeds: int, size: int) -> list[tuple[int, ...]]:
    """The seeds 0 … seeds − 1 in blocks that train together.

    >>> blocks(5, 2)
    [(0, 1), (2, 3), (4,)]
    """
    return [tuple(range(i, min(i + size, seeds))) for i in range(0, seeds, size)]


def distinct(values: tuple) -> tuple:
    """For a field whose values may each stand there once."""
    if len(set(values)) < len(values):
        raise ValueError("each value may stand there once")
    return values
