"""Find the separator and the header of a text table from its first lines."""

import csv
from typing import NamedTuple

from relulab.io.cells import has_decimal_comma, is_number
from relulab.io.guard import one_line
from relulab.io.label_column import LABELS

SEPARATORS = "\t;,"  # in this order, because commas also occur inside the cells of tables with other separators
SPACES = r"\s+"


class Layout(NamedTuple):
    """The separator, the names in the header or None, the number of lines before the rows, and a note or None."""

    separator: str
    names: list[str] | None
    skipped: int
    note: str | None


def text_layout(lines: list[str]) -> Layout | None:
    """Return the layout of a table; None if it has no rows and no header.

    The separator is the one that gives all lines the same number of cells. The first line is a header if it contains no
    number, or if it contains a name such as y, label or class that does not occur again in its column. Lines such as
    ``,0,1,2`` or ``0,1,2``, which pandas writes as a header, are headers, too. A # at its beginning, as NumPy writes
    it, is not part of the header.

    Args:
        lines: The first lines of the file.

    >>> text_layout(["a;class\\n", "1.5;red\\n", "2.5;blue\\n"])
    Layout(separator=';', names=['a', 'class'], skipped=1, note=None)
    """
    lines = [lines[0].removeprefix("#"), *lines[1:]]
    separator = _separator(lines)
    rows = _rows(lines, separator)
    if not rows:
        return None
    skipped, top = rows[0]
    names = [cell.strip() for cell in top]
    numeric = any(is_number(cell) or has_decimal_comma(cell) for cell in names)
    if numeric and not _is_numeric_header(names, [row for _, row in rows[1:]]):
        return Layout(separator, None, 0, None)
    shown = one_line(", ".join(names[:4])) + (", …" if len(names) > 4 else "")
    return Layout(separator, names, skipped, f"the first line ({shown}) was read as a header" if numeric else None)


def _separator(lines: list[str]) -> str:
    counts = {mark: [len(row) for _, row in _rows(lines, mark)] for mark in SEPARATORS}
    for mark, lengths in counts.items():
        if len(set(lengths)) == 1 and lengths[0] > 1:
            return mark
    best = max(SEPARATORS, key=lambda mark: min(counts[mark], default=0))
    if min(counts[best], default=0) > 1:
        return best
    words = {len(line.split()) for line in lines if line.strip()}
    return SPACES if len(words) == 1 and max(words) > 1 else ","


def _rows(lines: list[str], separator: str) -> list[tuple[int, list[str]]]:
    """Return the cells of each line that is not empty, with the number of lines up to its end."""
    if separator == SPACES:
        return [(i, line.split()) for i, line in enumerate(lines, 1) if line.strip()]
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        return [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row) or len(row) > 1]
    except csv.Error:  # such as a cell that is too long
        return [(i, line.split(separator)) for i, line in enumerate(lines, 1) if line.strip()]


def _is_numeric_header(names: list[str], below: list[list[str]]) -> bool:
    """Whether a first line with numbers is a header: it names the labels, or it counts the columns."""
    for k, name in enumerate(names):
        if name.lower() in LABELS:  # it may also be a label, such as y for yes
            return name not in {row[k].strip() for row in below if k < len(row)}
    indexed = names[0] == ""
    numbers = names[indexed:]
    return numbers == [str(k) for k in range(len(numbers))] and (indexed or len(numbers) > 2)
