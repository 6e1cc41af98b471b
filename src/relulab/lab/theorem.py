"""Theorems as objects: their conditions and conclusion are measured, which gives a verdict."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any, Literal, Never

from pydantic import TypeAdapter, ValidationError

from relulab.core.errors import UserError
from relulab.core.explained import may_be_nan
from relulab.core.value_words import shortened
from relulab.lab.input import Input, check_settings, expected_value, fitting_input
from relulab.lab.outside_code import blamed, expected

SIGNS = {True: "✓", False: "✗", None: "?"}
"""whether a check holds"""


class Verdict(Enum):
    """The result of testing a statement. Only HOLDS is a success."""

    HOLDS = "the conditions hold and so does the conclusion"
    REFUTED = "the conditions hold, the conclusion does not"
    NOT_APPLICABLE = "a condition fails, so the theorem does not apply"
    INCONCLUSIVE = "undecided: a condition is unknown, or the measurement is too uncertain"
    NOT_JUDGED = "not judged: a claim on fewer than five seeds, or on a size that is too small for a verdict"

    @classmethod
    def _missing_(cls, value: object) -> Never:
        names = ", ".join(f"Verdict.{verdict.name}" for verdict in cls)
        raise UserError(f"expected a verdict, got {shortened(value)}: use {names}")


@may_be_nan("measured", "bound", "error", "resolution")
@dataclass(frozen=True)
class Check:
    """One condition of a theorem, or one part of its conclusion: ``measured`` compared with ``bound``.

    An equation holds if it holds within ``error``. An inequality holds or fails if it does so by more than ``error``;
    otherwise it is undecided.

    Args:
        says: The requirement as a sentence, true when the check holds.
        measured: The measured number.
        relation: How ``measured`` must compare with ``bound``.
        bound: The number that ``measured`` is compared with.
        error: The uncertainty of ``measured``: an allowance for rounding, or k standard errors.
        resolution: The largest error at which the check is still meaningful; with a larger one it is undecided.
        detail: What was measured in words, if the numbers alone do not say it: "113 of 4,950 pairs do not".
    """

    says: str
    measured: float
    relation: Literal["<=", ">=", "=="]
    bound: float
    error: float = 0.0
    resolution: float = math.inf
    detail: str = ""

    def __post_init__(self) -> None:
        if self.error < 0:
            raise UserError(f"expected an error of at least 0, got error={self.error}: it is an uncertainty")

    @property
    def holds(self) -> bool | None:
        """True, False, or None if the check is undecided.

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
    """The measured conditions and conclusion of a theorem in one case.

    Args:
        conditions: The conditions of the theorem.
        conclusion: The parts of its conclusion.
        notes: What was assumed and what was left out when data were read from files.
    """

    conditions: tuple[Check, ...]
    conclusion: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from the conditions and the conclusion."""
        conditions = [c.holds for c in self.conditions]
        conclusion = [c.holds for c in self.conclusion]
        if False in conditions:
            return Verdict.NOT_APPLICABLE
        if None in conditions:
            return Verdict.INCONCLUSIVE
        if False in conclusion:
            return Verdict.REFUTED
        # A conclusion without checks shows nothing.
        return Verdict.INCONCLUSIVE if None in conclusion or not conclusion else Verdict.HOLDS

    def __repr__(self) -> str:
        from relulab.lab.show.words import check_detail

        lines = [f"Finding: {self.verdict.name}, {self.verdict.value}"]
        for kind, checks in (("condition", self.conditions), ("conclusion", self.conclusion)):
            for c in checks:
                detail = check_detail(c.detail, c.measured, c.relation, c.bound, c.error, c.holds)
                lines.append(f"  {SIGNS[c.holds]} {kind}: {c.says}: {detail}")
        return "\n".join(lines)

    def to_dict(self) -> dict:
        """Return the finding as a JSON document."""

        def rows(checks: Sequence[Check]) -> list[dict]:
            return [{k: finite(v) for k, v in asdict(c).items()} | {"holds": c.holds} for c in checks]

        return {
            "verdict": self.verdict.name,
            "conditions": rows(self.conditions),
            "conclusion": rows(self.conclusion),
        }


def finite(x):
    """Return ``x``, or None if it is infinite or NaN, which JSON does not have."""
    return None if isinstance(x, float) and not math.isfinite(x) else x


@dataclass(frozen=True)
class Demonstration:
    """A case that a theorem is tested on, with the expected verdict."""

    name: str
    expected: Verdict
    run: Callable[[], Finding]


@dataclass(frozen=True)
class Theorem:
    """A statement with its check and at least three demonstrations: HOLDS, NOT_APPLICABLE and REFUTED.

    The demonstration that must be REFUTED is a negative control: a false variant of the statement.

    Args:
        id: The id in the paper, such as "SS.L1".
        title: A short title.
        statement: The statement in plain sentences.
        source: The paper and the place in it.
        check: The function that measures conditions and conclusion.
        demonstrations: Cases with their expected verdicts.
        ids: Further ids of the same statement.
        symbols: The meaning of every letter in the statement.
        in_print: What is wrong or missing in the published text, and how it is handled here.
        on: The inputs from files that the theorem can be checked on, each with a function that checks the loaded
            input. Keyword-only arguments of the function are settings.
        variants: Keywords of the check that select a false variant of the statement; they are not settings.
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
    variants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        missing = {Verdict.HOLDS, Verdict.NOT_APPLICABLE, Verdict.REFUTED} - {d.expected for d in self.demonstrations}
        if missing:
            names = ", ".join(sorted(verdict.name for verdict in missing))
            raise TypeError(f"theorem {self.id} needs a demonstration for each of the verdicts {names}: add them")

    def __repr__(self) -> str:
        return f"Theorem({self.id}: {self.title}, {self.source})"

    @property
    def name(self) -> str:
        """The name on the command line: the name of the check function with hyphens."""
        return self.check.__name__.replace("_", "-")

    def _keywords(self, kind: type[Input]) -> dict[str, inspect.Parameter]:
        parameters = inspect.signature(self.on[kind]).parameters
        settings = {name: p for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
        return {name: p for name, p in settings.items() if name not in self.variants}

    def defaults(self, kind: type[Input]) -> dict[str, Any]:
        """Return the settings of the check on an input, with their defaults."""
        return {name: p.default for name, p in self._keywords(kind).items()}

    def settings(self, kind: type[Input], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings ``wanted`` of the check on an input, converted to their types."""
        known = self._keywords(kind)
        check_settings(self.id, known, wanted)
        settings = {}
        for name, value in wanted.items():
            try:
                settings[name] = TypeAdapter(known[name].annotation).validate_python(value)
            except ValidationError as error:
                message = error.errors()[0]["msg"]
                problem = f"expected {wanted_value}" if (wanted_value := expected_value(message)) else message
                raise UserError(f"{self.id}: setting {name}: {problem}, got {value!r}") from None
        return settings

    def check_files(self, options: Mapping[str, Any], settings: Mapping[str, Any]) -> Finding:
        """Check the theorem on files from a user.

        Args:
            options: The options that were given, by name: ``{"teacher": "a.pt", …}``.
            settings: Settings of the check, by name.
        """
        kind = fitting_input(self.id, list(self.on), options)
        given = kind.given(**options)
        given.allow(settings)
        checked_settings, check = self.settings(kind, settings), self.on[kind]
        with blamed(self.check.__module__, f"in {check.__name__}(), which checks {self.id}"):
            finding = check(*given.load(), **checked_settings)
            expected(f"{self.id}: {check.__name__}()", Finding, finding)
        return replace(finding, notes=tuple(given.notes))

    def demonstrate(self) -> dict:
        """Run all demonstrations and return the document that ``relulab check --json`` prints."""
        rows = []
        for demonstration in self.demonstrations:
            with blamed(self.check.__module__, f"in the demonstration {demonstration.name!r} of {self.id}"):
                finding = demonstration.run()
                expected(f"{self.id}: the demonstration {demonstration.name!r}", Finding, finding)
                shown = {"name": demonstration.name, "expected": demonstration.expected.name, **finding.to_dict()}
            rows.append(shown)
        return {"theorem": self.id, "demonstrations": rows}
