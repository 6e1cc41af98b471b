"""Theorems as objects: conditions and conclusion measured on given things, and a verdict."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from relulab.core.errors import UserError, nearest


class Verdict(Enum):
    """What a measurement says of a statement. Only HOLDS is a success."""

    HOLDS = "the conditions hold and so does the conclusion"
    REFUTED = "the conditions hold, the conclusion does not"
    NOT_APPLICABLE = "a condition fails, so the theorem says nothing here"
    INCONCLUSIVE = "it cannot be told: a condition is unknown, or the measurement too uncertain"


@dataclass(frozen=True)
class Check:
    """One condition or one part of a conclusion: ``measured`` stands in ``relation`` to ``bound``.

    ``error`` is a rounding allowance or k standard errors. An equation holds within the error; an inequality holds or
    fails when it does so by more than the error, and cannot be told in between. ``resolution`` is the largest error
    at which an equation still says something.
    """

    says: str
    measured: float
    relation: Literal["<=", ">=", "=="]
    bound: float
    error: float = 0.0
    resolution: float = math.inf

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

    The negative control is a false variant of the statement, which must come out REFUTED.
    """

    id: str
    title: str
    statement: str
    source: str
    check: Callable[..., Finding]
    demonstrations: tuple[Demonstration, ...]
    ids: tuple[str, ...] = ()
    of_networks: Callable[..., Finding] | None = None
    """the check on a teacher, a student and points, where the theorem speaks of such; its keywords are settings"""
    of_table: Callable[..., Finding] | None = None
    """the check on labelled data, and perhaps a network trained on them and its start; its keywords are settings"""
    of_transfer: Callable[..., Finding] | None = None
    """the check on points and the weights of a linear teacher; its keywords are settings"""
    variants: tuple[str, ...] = ()
    """keywords that make a false variant of the statement, so are no settings"""

    def __post_init__(self):
        missing = {Verdict.HOLDS, Verdict.NOT_APPLICABLE, Verdict.REFUTED} - {d.expected for d in self.demonstrations}
        if missing:
            raise TypeError(f"{self.id} lacks demonstrations for {', '.join(sorted(v.name for v in missing))}")

    @property
    def name(self) -> str:
        return self.check.__name__.replace("_", "-")

    @property
    def on_files(self) -> Callable[..., Finding] | None:
        """The check on what a user has in files, if there is one."""
        return self.of_networks or self.of_table or self.of_transfer

    @property
    def files(self) -> tuple[str, ...]:
        """What it needs then."""
        if self.of_networks:
            return ("teacher", "student", "data")
        return ("data",) if self.of_table else ("data", "teacher") if self.of_transfer else ()

    @property
    def optional_files(self) -> tuple[str, ...]:
        """What it takes besides: a network trained on the table, and its start."""
        known = inspect.signature(self.of_table).parameters if self.of_table else {}
        return tuple(name for name in ("network", "start") if name in known)

    @property
    def _keywords(self) -> dict[str, inspect.Parameter]:
        parameters = inspect.signature(self.on_files).parameters if self.on_files else {}
        settings = {name: p for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
        return {name: p for name, p in settings.items() if name not in self.variants}

    @property
    def defaults(self) -> dict[str, Any]:
        """The settings of the check on files, with what they are unless told."""
        return {name: p.default for name, p in self._keywords.items()}

    def settings(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Settings of the check on files, if it has them and they are of the right kind."""
        known = self._keywords
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

    def demonstrate(self) -> dict:
        """All demonstrations as the document that ``relulab check --json`` prints."""
        rows = [{"name": d.name, "expected": d.expected.name, **d.run().to_dict()} for d in self.demonstrations]
        return {"theorem": self.id, "demonstrations": rows}
