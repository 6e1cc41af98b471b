"""Parse a file without the bodies of its functions, which would take most of the time."""

import ast
import re
from functools import cache
from pathlib import Path

from relulab.lab.index.problems import NotWritten

DEF = re.compile(r" *(async )?def \w")
HEAD = re.compile(r"(\)|\]|\w|\"|'):\s*(#.*)?$")  # the end of a function's first line
QUOTE = re.compile(r"\s*r?(?P<mark>\"\"\"|\"|')(?P<end>.+(?P=mark)\s*$)?")


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file without the bodies of its functions, which would take most of the time."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        try:
            return ast.parse(outline(text))
        except SyntaxError:  # a function with unusual formatting
            return ast.parse(text)
    except OSError as error:
        raise NotWritten(f"{path}: {error.strerror}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotWritten(f"{path}: {error}") from None


def outline(text: str) -> str:
    """Return the text with the bodies of functions removed, except their docstrings.

    >>> print(outline("def f(x):\\n    'doc'\\n    return x\\nA = 1"))
    def f(x):
        'doc'
        pass
    A = 1
    """
    kept: list[str] = []
    lines = iter(text.split("\n"))
    line = next(lines, None)
    while line is not None:
        kept.append(line)
        if not DEF.match(line):
            line = next(lines, None)
            continue
        depth = len(line) - len(line.lstrip())
        if not HEAD.search(line) and line.count("(") == line.count(")"):  # a function on one line
            line = next(lines, None)
            continue
        while line is not None and not HEAD.search(line):  # the signature may take several lines
            line = next(lines, None)
            kept += [line] if line is not None else []
        line = next(lines, None)
        if line is not None and (quote := QUOTE.match(line)):
            kept.append(line)
            ended = bool(quote["end"])
            while not ended:
                line = next(lines, None)
                kept += [line] if line is not None else []
                ended = line is None or line.rstrip().endswith(quote["mark"])
            line = next(lines, None)
        while line is not None and (not line.strip() or len(line) - len(line.lstrip()) > depth):
            line = next(lines, None)
        kept.append(f"{' ' * depth}    pass")
    return "\n".join(kept)
