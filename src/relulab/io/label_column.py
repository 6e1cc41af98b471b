"""Find the column of labels in a table by its name, without mistaking it for an input or an input for it."""

from collections.abc import Collection, Sequence

from relulab.core.errors import UserError
from relulab.io.data_table import Table, column_option, column_word

LABELS = ("y", "label", "labels", "target", "targets", "class", "classes")


def required_label(where: str, table: Table, columns: Sequence[int]) -> tuple[int, str]:
    """Return the column of labels of a table that must have one, and a note: by its name, or else the last column.

    Args:
        where: The file, for error messages.
        table: The table.
        columns: The columns that may be used.
    """
    if len(columns) < 2:
        raise UserError(
            f"expected at least two columns in {where}, inputs and labels, got {len(columns)}: separate columns by "
            "commas, semicolons or tabs"
        )
    found = _like_labels(table, columns)
    if len(found) > 1:
        raise UserError(f"{_ambiguous(where, table, found)}: select one with --label; the others are inputs")
    if found:
        return found[0], f"{column_word(table, found[0])} holds the labels"
    return columns[-1], f"{column_word(table, columns[-1])}, the last one, was taken as the labels"


def possible_label(
    where: str, table: Table, columns: Sequence[int], inputs: Collection[int] | None
) -> tuple[int | None, str | None]:
    """Return the column of labels of a table of points, or None if it has none, and a note on what was assumed.

    A column with a name such as y, label or class holds labels if it contains text, or if the table has one column more
    than needed. It is an input if the table has exactly as many columns as needed. Other tables are refused.

    Args:
        where: The file, for error messages.
        table: The table.
        columns: The columns that may be used.
        inputs: How many inputs there may be. None if that is not known.
    """
    found = _like_labels(table, columns)
    texts = [k for k in found if not table.is_numeric(k)]
    if len(texts) == 1:
        return texts[0], left_out(table, texts[0])
    if not found:
        return None, None
    name, option = column_word(table, found[0]), column_option(table, found[0])
    if inputs is None:
        raise UserError(
            f"{where}: {name} may hold labels or be an input: add --label {option} if it holds labels, or pass "
            f"inputs={len(columns)} to read_points if it is an input"
        )
    count = sum(table.is_numeric(k) for k in columns)
    if count in inputs and count - 1 not in inputs:
        return None, f"{name} is one of the {count} inputs"
    if count - 1 in inputs and count not in inputs and len(found) == 1:
        return found[0], left_out(table, found[0])
    if count - 1 in inputs:
        raise UserError(
            f"{_ambiguous(where, table, found)}: leave it out with --drop {option}, or rename it if it is an input"
            if len(found) == 1
            else f"{_ambiguous(where, table, found)}: select one with --label, or leave it out with --drop"
        )
    raise UserError(wrong_count(where, count, inputs))


def left_out(table: Table, column: int) -> str:
    """Return the note on a column of labels that is not used as an input."""
    return f"{column_word(table, column)} holds labels and was left out"


def wrong_count(where: str, count: int, inputs: Collection[int]) -> str:
    """Return the message for a table with too few or too many columns.

    Args:
        where: The file.
        count: The number of its columns with numbers.
        inputs: How many inputs there may be.
    """
    wanted = " or ".join(map(str, sorted(inputs)))
    remedy = (
        "select a column of labels with --label, and leave out other columns with --drop"
        if count > min(inputs)
        else "use points with as many columns as the network has inputs"
    )
    return f"{where}: expected {wanted} columns, one per input, got {count}: {remedy}"


def _like_labels(table: Table, columns: Sequence[int]) -> list[int]:
    return [k for k in columns if table.names and table.names[k].lower() in LABELS]


def _ambiguous(where: str, table: Table, found: Sequence[int]) -> str:
    return f"{where}: {' and '.join(column_word(table, k) for k in found)} may hold the labels"
