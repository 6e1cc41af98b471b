"""Theorems as objects: conditions and conclusion measured on given things, and a verdict."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from relulab.core.errors import UserError, nearest
from relulab.lab.input import Input


class Verdict(Enum):
    """What a measurement says of a statement. Only HOLDS is a success."""

    HOLDS = "the conditions hold and so does the conclusion"
    REFUTED = "the conditions hold, the conclusion does not"
    NOT_APPLICABLE = "a condition fails, so the theorem says nothing here"
    INCONCLUSIVE = "it cannot be told: a condition is unknown, or the measurement too uncertain"


@dataclass(frozen=True)
class Check:
    """One condition or one part of a conclusion: ``measured`` stands in ``relation`` to ``bound``.

    ``says`` states what is required, as a sentence. ``detail`` says what was measured in words, where the numbers alone
    would not: "113 of 4,950 pairs have a positive one". ``error`` is a rounding allowance or k standard errors. An
    equation holds within the error; an inequality holds or fails when it does so by more than the error, and cannot be
    told in between. ``resolution`` is the largest error at which an equation still says something.
    """

    says: str
    measured: float
    relation: Literal["<=", ">=", "=="]
    bound: float
    error: float = 0.0
    resolution: float = math.inf
    detail: str = ""

    @property
    def holds(self) -> bool | None:
        """True, False, or None when the measurement cannot tell.

        >>> Check("a sum", 1.0, "<=", 2.0, error=0.5).holds, Check("a sum", 1.0, "==", 2.0, error=0.5).holds
        (True, False)
        >>> print(Check("a sum", 1.8, "<=", 2.0, error=0.5).holds)
        None
        """
        excess = self.measured - self.bound
        if math.isnan(excess) or not math.isfinite(self.error) or self.error > self.resolution:
            return None
        if self.relation == "==":
            return abs(excess) <= self.error
        excess = -excess if self.relation == ">=" else excess
        if excess + self.error <= 0:
            return True
        return False if excess - self.error > 0 else None


@dataclass(frozen=True)
class Finding:
    """What a theorem says of one case."""

    conditions: tuple[Check, ...]
    conclusion: tuple[Check, ...]

    @property
    def verdict(self) -> Verdict:
        conditions = [c.holds for c in self.conditions]
        conclusion = [c.holds for c in self.conclusion]
        if False in conditions:
            return Verdict.NOT_APPLICABLE
        if None in conditions:
            return Verdict.INCONCLUSIVE
        if False in conclusion:
            return Verdict.REFUTED
        # Nothing measured is nothing shown.
        return Verdict.INCONCLUSIVE if None in conclusion or not conclusion else Verdict.HOLDS

    def to_dict(self) -> dict:
        def rows(checks: Sequence[Check]) -> list[dict]:
            return [{k: finite(v) for k, v in asdict(c).items()} | {"holds": c.holds} for c in checks]

        return {
            "verdict": self.verdict.name,
            "conditions": rows(self.conditions),
            "conclusion": rows(self.conclusion),
        }


def finite(x):
    """JSON has no infinity and no NaN: None stands for them."""
    return None if isinstance(x, float) and not math.isfinite(x) else x


@dataclass(frozen=True)
class Demonstration:
    """A case that a theorem is tried on, with the verdict that must come out."""

    name: str
    expected: Verdict
    run: Callable[[], Finding]


@dataclass(frozen=True)
class Theorem:
    """A statement with its check and at least three demonstrations: holds, not applicable, negative control.

    The negative control is a false variant of the statement, which must come out REFUTED. ``symbols`` define the
    letters of the statement, and ``in_print`` says what is wrong or missing in the published text.
    """

    id: str
    title: str
    statement: str
    source: str
    check: Callable[..., Finding]
    demonstrations: tuple[Demonstration, ...]
    ids: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict, hash=False)
    in_print: str = ""
    on: Mapping[type[Input], Callable[..., Finding]] = field(default_factory=dict, hash=False)
    """inputs that it can be checked on, each with its check of what was loaded; keyword-only arguments are settings"""
    variants: tuple[str, ...] = ()
    """keywords that make a false variant of the statement, so are no settings"""

    def __post_init__(self) -> None:
        missing = {Verdict.HOLDS, Verdict.NOT_APPLICABLE, Verdict.REFUTED} - {d.expected for d in self.demonstrations}
        if missing:
            raise TypeError(f"{self.id} lacks demonstrations for {', '.join(sorted(v.name for v in missing))}")

    @property
    def name(self) -> str:
        return self.check.__name__.replace("_", "-")

    def _keywords(self, kind: type[Input]) -> dict[str, inspect.Parameter]:
        parameters = inspect.signature(self.on[kind]).parameters
        settings = {name: p for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
        return {name: p for name, p in settings.items() if name not in self.variants}

    def defaults(self, kind: type[Input]) -> dict[str, Any]:
        """The settings of the check on an input, with their defaults."""
        return {name: p.default for name, p in self._keywords(kind).items()}

    def settings(self, kind: type[Input], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Settings of the check on an input, if it has them and they are of the right type."""
        known = self._keywords(kind)
        found = {}
        for name, value in wanted.items():
            if name not in known:
                raise UserError(
                    f"{self.id} has no setting {name!r}: {nearest(name, known) if known else 'it has none'}"
                )
            try:
                found[name] = TypeAdapter(known[name].annotation).validate_python(value)
            except ValidationError as error:
                raise UserError(f"{self.id}: {name} = {value!r} was given; {error.errors()[0]['msg']}") from None
        return found

    def check_files(self, options: Mapping[str, Any], settings: Mapping[str, Any]) -> Finding:
        """The check on what a user has in files.

        Args:
            options: The options that were given, by name: ``{"teacher": "a.pt", …}``.
            settings: Settings of the check, by name.
        """
        kind = self._fitting(options)
        given = kind.given(**options)
        given.allow(settings)
        words = self.settings(kind, settings)
        return self.on[kind](*given.load(), **words)

    def _fitting(self, options: Mapping[str, Any]) -> type[Input]:
        """The input that these options make, or a sentence on what is missing or too much."""
        if not self.on:
            raise UserError(f"{self.id} cannot be checked on files: run relulab check {self.id} alone")
        wants = "; or ".join(_wants(kind) for kind in self.on)
        enough = [kind for kind in self.on if set(kind.required()) <= set(options)]
        if not enough:
            raise UserError(f"{self.id} needs {wants}")
        for kind in enough:
            if set(options) <= set(kind.model_fields):
                return kind
        wrong = next(name for name in options if name not in enough[0].model_fields)
        raise UserError(f"{self.id} takes {wants}, not --{wrong}")

    def demonstrate(self) -> dict:
        """All demonstrations as the document that ``relulab check --json`` prints."""
        rows = [{"name": d.name, "expected": d.expected.name, **d.run().to_dict()} for d in self.demonstrations]
        return {"theorem": self.id, "demonstrations": rows}


def _wants(kind: type[Input]) -> str:
    """The options of an input: those that are needed, and those that may be given."""
    *most, last = [f"--{name}" for name in kind.required()]
    needed = f"all of {', '.join(most)} and {last}" if most else last
    return needed + "".join(f", perhaps --{name}" for name in kind.model_fields if name not in kind.required())
