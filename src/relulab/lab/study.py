"""Studies: a figure or table of a paper as a frozen configuration with its units of work, figures and claims."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from relulab.core.errors import UserError, nearest
from relulab.core.ranges import at_least
from relulab.core.value_words import shortened
from relulab.lab.input import expected_value
from relulab.lab.live_code import live_digests, source_of
from relulab.lab.outside_code import blamed
from relulab.lab.own_code import OwnCode, code_of
from relulab.lab.well_formed import check_attributes

SEEDS = 1_000_000
"""Largest number of seeds of a study."""

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from relulab.lab.claim import Claim
    from relulab.lab.control import Control
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

    def __post_init__(self) -> None:
        at_least(0, seed_steps=self.seed_steps, flops=self.flops)


class Study(BaseModel):
    """A configuration that can be run. The base class of all studies.

    A subclass adds the setup as fields, with the paper's values as defaults, and implements ``units``, ``measure``,
    ``figures`` and ``claims``, and ``animations`` if it has any. ``presets`` change sizes only; the preset "paper" is
    the defaults, and claims are not judged on the preset "smoke", which only shows that the study runs. Increase
    ``version`` whenever a unit computes something else: the version is part of the name of a run, so that results of
    older code are not reused.
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
    symbols: ClassVar[dict[str, str]] = {}
    """the meaning of every symbol in claims, captions and descriptions that no term of the subject explains"""
    version: ClassVar[int] = 1
    own_code: ClassVar[OwnCode | None] = None
    """the code of a study from a user's file, as it was when relulab read it; set by relulab"""

    root: NonNegativeInt = 0
    """root seed of all random streams"""

    def __new__(cls, *positional: Any, **fields: Any) -> Any:
        if cls is Study:
            raise UserError("Study is the base class of all studies: write a subclass, or use find_study for a study")
        if positional:
            raise UserError(f"expected the fields of {cls.__name__} by name, got {positional[0]!r}: write name=value")
        if cls.__abstractmethods__:
            check_study(cls)
        return super().__new__(cls)

    def __init__(self, **fields: Any):
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise UserError(_sentence(type(self), error)) from None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.own_code = code_of(cls.__module__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle a study from a user's file together with its code, so that workers run the code that was hashed."""
        reduced = super().__reduce_ex__(protocol)
        cls, code = type(self), self.own_code
        if code is None or not cls.__module__.startswith(f"{code.package}."):
            return reduced
        return (_restored, (code, cls.__module__, cls.__qualname__), *reduced[2:])

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

    def controls(self, result: xr.Dataset) -> list[Control]:
        """Return results on which claims must not hold, made from the joined results of all units.

        The same method ``claims`` judges them: an untrained network, a shuffled teacher, random labels. By default
        there are none.
        """
        return []

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        """Return numbers of every seed that a comparison of settings looks at, besides the values of the claims.

        Their names say in words what they are. Values have the dimension "seed", and may have one more, such as
        "epoch", along which they are drawn as a curve. By default there are none.
        """
        return {}

    def animations(self, result: xr.Dataset) -> dict[str, Animation]:
        """Return the animations by name. A study has none by default."""
        return {}

    def ready(self) -> None:
        """Raise a UserError if something the units need is missing, such as a data set. Called before anything runs."""

    @property
    def hash(self) -> str:
        """Ten hexadecimal digits that identify configuration, version, and code if the study is not in relulab."""
        code = self.own_code.digests if self.own_code else live_digests(type(self))
        text = json.dumps([self.name, self.version, self.model_dump(mode="json"), *code], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    def differs(self, preset: str) -> dict[str, Any]:
        """Return the fields that differ from a preset, with their values.

        Args:
            preset: "smoke", "quick" or "paper".
        """
        unchanged = self.configured(preset).model_dump(mode="json")
        return {name: value for name, value in self.model_dump(mode="json").items() if value != unchanged[name]}

    def nearest_preset(self) -> str:
        """Return the preset that differs from this configuration in the fewest fields.

        "smoke", on which claims are not judged, is only the nearest if nothing but seeds differs, and if every other
        preset differs in more fields.
        """
        presets = sorted({**self.presets, "paper": {}}, key=lambda preset: preset == "smoke")
        differences = {preset: self.differs(preset) for preset in presets}
        if differences.get("smoke", {}).keys() - {"seeds", "root"}:
            del differences["smoke"]
        return min(differences, key=lambda preset: len(differences[preset]))

    @classmethod
    def configured(cls, preset: str = "quick", changes: Mapping[str, Any] | None = None) -> Study:
        """Return the study with a preset and some fields changed.

        A list of values for a field that takes one value gives a comparison: the study at each of these values, in the
        same seeds, with the differences and their intervals.

        Args:
            preset: "smoke", "quick" or "paper".
            changes: Values of fields that differ from the preset.

        Raises:
            UserError: If there is no such preset or field, or a value is invalid.
        """
        from relulab.lab.comparison import compared  # it is made of studies

        check_study(cls)
        kind = compared(cls, changes or {})
        if kind is not cls:
            return kind.configured(preset, changes)
        presets = {"paper": {}, **cls.presets}
        if preset not in presets:
            raise UserError(f"{cls.name} has no preset {preset!r}: {nearest(preset, presets)}")
        study = cls(**{**presets[preset], **(changes or {})})
        seeds = getattr(study, "seeds", None)
        if isinstance(seeds, int) and seeds > SEEDS:
            raise UserError(f"{cls.name}: expected at most {SEEDS:,} seeds, got {seeds:,}: use fewer")
        return study


def place_of(study: Study) -> str:
    """Return where a user's study is defined, or the name of another one, for messages."""
    cls = type(study)
    return study.name if cls.__module__.partition(".")[0] == "relulab" else _place(cls)


def _place(cls: type[Study]) -> str:
    return cls.own_code.shown if cls.own_code else source_of(cls)


def check_study(cls: type[Study]) -> None:
    """Raise a UserError if a study lacks a method or a class variable, or has one of the wrong type."""
    names = ("name", "ids", "title", "source", "remarks", "needs", "presets", "captions", "symbols", "version")
    where = f"{_place(cls)}, class {cls.__name__}:"
    check_attributes(where, {name: getattr(cls, name, None) for name in names})
    if missing := sorted(cls.__abstractmethods__):
        raise UserError(f"{where} the method {missing[0]}() is missing: add it")


def _restored(code: OwnCode, module: str, name: str) -> Study:
    """Return an empty study of a class in a user's file, which is imported from ``code``; pickle then fills it."""
    with blamed(module, "when the file is imported"):
        code.load()
        found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found.__new__(found)


def _sentence(cls: type[Study], error: ValidationError) -> str:
    """Describe the first validation error in one sentence."""
    first = error.errors()[0]
    where = str(first["loc"][0]) if first["loc"] else cls.name
    if first["type"] == "extra_forbidden":
        return f"{cls.name} has no field {where!r}: {nearest(where, cls.model_fields)}"
    # A field that accepts several types has one error per type: join them into one.
    same = [e for e in error.errors() if e["loc"][:1] == first["loc"][:1] and e["input"] is first["input"]]
    given = shortened(first["input"], 200)
    path = ".".join([where, *(str(part) for part in first["loc"][1:] if isinstance(part, int))])
    if expected := " or ".join(dict.fromkeys(filter(None, (expected_value(e["msg"]) for e in same)))):
        return f"{cls.name}: field {path}: expected {expected}, got {given}"
    return f"{cls.name}: field {path} = {given}: {first['msg'].removeprefix('Value error, ')}"


def blocks(seeds: int, size: int) -> list[tuple[int, ...]]:
    """Divide the seeds 0, …, seeds − 1 into blocks that are trained together.

    >>> blocks(5, 2)
    [(0, 1), (2, 3), (4,)]
    """
    if seeds > SEEDS:
        raise UserError(f"expected at most {SEEDS:,} seeds, got {seeds:,}: use fewer")
    return [tuple(range(i, min(i + size, seeds))) for i in range(0, seeds, size)]


def distinct(values: tuple) -> tuple:
    """Validate a field whose values must all be different."""
    if len(set(values)) < len(values):
        raise ValueError("a value appears twice, remove the repetition")
    return values
