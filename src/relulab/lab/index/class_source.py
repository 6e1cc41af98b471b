"""Classes as they are written: their bases, class variables and fields."""

import ast
from inspect import cleandoc
from typing import Any

from relulab.lab.index.entry import Option
from relulab.lab.index.problems import NotWritten
from relulab.lab.index.source_code import SourceCode, assigned_in, bindings

# Base classes from outside that declare nothing that is needed.
BARE = {("pydantic", "BaseModel"), ("abc", "ABC"), ("typing", "Generic"), ("typing", "Protocol")}
BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
Family = list[tuple[SourceCode, ast.ClassDef]]


def lineage(code: SourceCode, name: ast.expr | None, base: tuple[str, str]) -> Family:
    """Return a class and its base classes, nearest first; raise NotWritten if ``base`` is not among them."""
    classes = _ancestors(code, name)
    places = [(home.module, node.name) for home, node in classes]
    if base not in places:
        raise NotWritten(f"{code.module}: {written_name(name)} is not a {base[1]}")
    # As in Python's method resolution order, a common base comes after all classes that inherit from it.
    return [pair for i, pair in enumerate(classes) if places[i] not in places[i + 1 :]]


def _ancestors(code: SourceCode, name: ast.expr | None) -> Family:
    home, node = code.definition(written_name(name), ast.ClassDef)
    if node.keywords or node.decorator_list or any(isinstance(statement, BLOCKS) for statement in node.body):
        raise NotWritten(f"{home.module}: the class {node.name} is computed")
    inherited = [base for base in node.bases if origin(home, base) not in BARE]
    return [(home, node), *(pair for base in inherited for pair in _ancestors(home, base))]


def attribute(family: Family, name: str) -> Any:
    """Return the value of a class variable, from the nearest class that sets it."""
    for code, node in family:
        statements = bindings(node).get(name, [])
        if len(statements) > 1:
            raise NotWritten(f"{node.name} sets {name} more than once")
        if statements:
            return code.value(assigned_in(statements[0], f"{node.name}.{name}"))
    raise NotWritten(f"{family[0][1].name} does not set {name}")


def fields(family: Family) -> list[Option]:
    """Return the fields of a Pydantic model in Pydantic's order: base classes first; subclasses override values."""
    options: dict[str, Option] = {}
    for code, node in reversed(family):
        for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
            if not isinstance(statement, ast.AnnAssign) or ast.unparse(statement.annotation).startswith("ClassVar"):
                continue
            name = written_name(statement.target)
            if name.startswith("_") or name == "model_config":
                continue
            meaning = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            if not meaning and name in options:
                meaning = options[name].meaning
            required = statement.value is None
            default = None if required else code.value(statement.value)
            options[name] = Option(name, ast.unparse(statement.annotation), default, required, cleandoc(str(meaning)))
    return list(options.values())


def origin(code: SourceCode, name: ast.expr) -> tuple[str, str]:
    """Return the module that defines a name, and the name there."""
    home, written = code.origin(written_name(name))
    return home.module, written


def written_name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    raise NotWritten(f"{ast.unparse(node) if node else 'nothing'} is not a plain name")
