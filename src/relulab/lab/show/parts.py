"""Parts of an answer: sentences, facts and tables, independent of terminal and page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Line:
    """A sentence: plain, strong (the answer) or quiet (background)."""

    text: str
    look: Literal["plain", "strong", "quiet"] = "plain"


@dataclass(frozen=True)
class Marked:
    """A sentence after a mark such as ✓."""

    mark: str
    text: str


@dataclass(frozen=True)
class Grid:
    """A table of text. Columns are right-aligned, except those in ``left``."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Fact:
    """A short answer with its label: ``points kept``, ``37 of 40``. Facts in a row are aligned."""

    label: str
    text: str


Part = str | Line | Marked | Fact | Grid


def note_lines(notes: Iterable[str]) -> list[Part]:
    """Lines on what was assumed and what was left out when data were read.

    Args:
        notes: The notes, as sentences.
    """
    return [Line(f"Note: {note}", "quiet") for note in notes]


def first_rows(
    columns: Sequence[str], rows: Sequence[Sequence[str]], most: int, see: str, left: frozenset[str] = frozenset()
) -> list[Part]:
    """The first rows of a table, and a line that says how many more there are and where to find them.

    Args:
        columns: Names of the columns.
        rows: All rows.
        most: Number of rows to show.
        see: Where to find the other rows.
        left: Columns that are left-aligned.
    """
    more: list[Part] = [Line(f"… and {len(rows) - most} more: see {see}", "quiet")] if len(rows) > most else []
    return [Grid(columns, rows[:most], left), *more]
