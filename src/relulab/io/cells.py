"""What a cell of a text table contains."""

import re

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


def is_number(cell: str) -> bool:
    """Whether a cell is a number.

    Args:
        cell: The text of the cell.

    >>> is_number("1e-3"), is_number("1,5"), is_number("red")
    (True, False, False)
    """
    try:
        float(cell)
    except ValueError:
        return False
    return True


def has_decimal_comma(cell: str) -> bool:
    """Whether a cell is a number with a comma instead of a decimal point.

    Args:
        cell: The text of the cell.

    >>> has_decimal_comma("-1,5"), has_decimal_comma("1.5"), has_decimal_comma("a,b")
    (True, False, False)
    """
    return DECIMAL_COMMA.fullmatch(cell.strip()) is not None
