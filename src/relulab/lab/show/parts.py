"""Parts of an answer for people: sentences and tables, free of any terminal or page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Line:
    """A sentence, shown plain, strong (the answer) or quiet (what goes without saying)."""

    text: str
    look: Literal["plain", "strong", "quiet"] = "plain"


@dataclass(frozen=True)
class Marked:
    """A sentence with a sign in front of it, such as ✓."""

    mark: str
    text: str


@dataclass(frozen=True)
class Grid:
    """A table of text. Columns are right-aligned unless named in ``left``."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Fact:
    """A short answer with its label: ``points kept``, ``37 of 40``. Facts in a row are aligned."""

    label: str
    text: str


Part = str | Line | Marked | Fact | Grid


def first_rows(
    columns: Sequence[str], rows: Sequence[Sequence[str]], most: int, see: str, left: frozenset[str] = frozenset()
) -> list[Part]:
    """A table of the first rows, and a line that says how many more there are and where.

    Args:
        columns: Names of the columns.
        rows: All rows.
        most: How many of them are shown.
        see: Where the others are to be found.
        left: Columns that are left-aligned.
    """
    more: list[Part] = [Line(f"… and {len(rows) - most} more: see {see}", "quiet")] if len(rows) > most else []
    return [Grid(columns, rows[:most], left), *more]
