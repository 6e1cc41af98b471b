"""Marks formulas in pages and docstrings, so that their stars and underscores are not taken for markup."""

import re
from collections.abc import Callable

from relulab.lab.show.typeset import with_formulas

FENCE = re.compile(r"^\s*(```|~~~)")
# Code, links and their addresses, HTML and formulas that are marked already stay as they are.
KEPT = re.compile(r"(`+[^`]+`+|\]\([^)]*\)|<[^<> ][^<>]*>|\$[^$\n]+\$)")
ARGUMENT = re.compile(r"^(\s+\*{0,2}\w+(?: \([^)]*\))?: )(.*)$")
EXAMPLE = re.compile(r"^\s*>>>")


def marked(markdown: str) -> str:
    """The text with ``$…$`` around every formula outside of code.

    Args:
        markdown: A page, or a part of one.

    >>> marked("The norm ‖w_j‖ of `w_j`.")
    'The norm $‖w_j‖$ of `w_j`.'
    """
    lines, fenced = [], False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        lines.append(line if fenced or FENCE.match(line) or line.startswith("    >>>") else marked_line(line))
    return "\n".join(lines)


def marked_line(line: str) -> str:
    """The same for one line; in a row of a table, cell by cell."""
    if line.lstrip().startswith("|"):
        return "|".join(_outside_code(cell, lambda formula: f"${formula}$") for cell in line.split("|"))
    return _outside_code(line, lambda formula: f"${formula}$")


def marked_docstring(text: str) -> str:
    """The docstring with formulas as roles of reStructuredText; examples and the names of arguments stay as they are.

    Args:
        text: The docstring.

    >>> marked_docstring("The norm ‖w_j‖ of ``w_j``.")
    'The norm \\\\ :math:`‖w_j‖`\\\\  of ``w_j``.'
    """
    lines, example = [], False
    for line in text.split("\n"):
        example = bool(EXAMPLE.match(line)) or (example and bool(line.strip()))
        before, rest = argument.groups() if (argument := ARGUMENT.match(line)) else ("", line)
        lines.append(line if example else before + _outside_code(rest, _role, _escaped))
    return "\n".join(lines)


def _role(formula: str) -> str:
    """A role of reStructuredText; the escaped spaces let it stand next to letters."""
    return rf"\ :math:`{formula}`\ "


def _escaped(text: str) -> str:
    return re.sub(r"([|*]|(?<=\w)_(?!\w))", r"\\\1", text)


def _outside_code(line: str, formula: Callable[[str], str], plain: Callable[[str], str] = str) -> str:
    parts = KEPT.split(line)
    return "".join(part if i % 2 else with_formulas(part, formula, plain) for i, part in enumerate(parts))
