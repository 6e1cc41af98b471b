"""Lists every text that users meet, one per line with its place: python docs/build/user_texts.py [--sample N].

Errors, hints, help texts and options, claims, checks, captions, titles, statements, and the headings of the docs.
"""

import argparse
import ast
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from relulab.core.door import LINE

ROOT = Path(__file__).parent.parent.parent
CALLS = {"UserError", "RunStopped", "Unreadable", "claim", "Claim", "Statement", "Check", "Demonstration", "Theorem"}
CALLS |= {"Line", "Marked", "Fact", "Option", "Argument", "print", "say", "ValueError", "TypeError"}
FIELDS = {"title", "source", "remarks", "needs", "captions", "symbols", "kept", "drawn", "TERMS"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="print this many at random")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    texts = list(all_texts())
    if given.sample:
        texts = random.Random(given.seed).sample(texts, given.sample)
    for place, text in texts:
        print(f"{place}: {text}")


def all_texts() -> Iterator[tuple[str, str]]:
    """Every text with the file and line that it is in."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield from ((f"{path.relative_to(ROOT)}:{line}", text) for line, text in texts_of(path))
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("#"):
                yield f"{path.relative_to(ROOT)}:{number}", line.lstrip("# ")


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a Python file, with their lines."""
    tree, names = ast.parse(path.read_text(encoding="utf-8")), public_names()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in CALLS:
            for value in [*node.args, *(word.value for word in node.keywords)]:
                yield from _written(value)
        elif isinstance(node, ast.AnnAssign | ast.Assign) and _target(node) in FIELDS:
            yield from _written(node.value)
        elif isinstance(node, ast.ClassDef) and (node.name in names or _declares(node)):
            for statement in node.body:
                if isinstance(statement, ast.Expr):
                    yield from _written(statement.value)
        elif isinstance(node, ast.FunctionDef) and node.name in names and (doc := ast.get_docstring(node)):
            yield node.lineno, doc.split("\n\n")[0].replace("\n", " ")


@cache
def public_names() -> frozenset[str]:
    """The names that ``relulab`` and its subjects offer."""
    doors = [ROOT / "src/relulab/__init__.py", *(ROOT / "src/relulab/subjects").glob("*/__init__.py")]
    return frozenset(line["name"] for door in doors for line in LINE.finditer(door.read_text(encoding="utf-8")))


def _declares(node: ast.ClassDef) -> bool:
    """Whether a class is a study, an input or a measurement, whose fields are options."""
    return any(isinstance(line, ast.AnnAssign) and "ClassVar" in ast.unparse(line.annotation) for line in node.body)


def _target(node: ast.AnnAssign | ast.Assign) -> str:
    return _name(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _written(node: ast.expr | None) -> Iterator[tuple[int, str]]:
    """A string, with its placeholders in braces; the strings of a dictionary, a tuple or a choice."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\w \w", node.value):
        yield node.lineno, " ".join(node.value.split())
    elif isinstance(node, ast.JoinedStr):
        parts = (str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
        yield node.lineno, " ".join("".join(parts).split())
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _written(value)
    elif isinstance(node, ast.Tuple | ast.List):
        for value in node.elts:
            yield from _written(value)
    elif isinstance(node, ast.IfExp):
        yield from _written(node.body)
        yield from _written(node.orelse)
    elif isinstance(node, ast.BinOp):
        yield from _written(node.left)
        yield from _written(node.right)


if __name__ == "__main__":
    main()
