"""Index entries read from the source of a file, without importing it."""

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import cleandoc
from typing import Any

from relulab.lab.index.entry import Entry, Option
from relulab.lab.index.source_code import NotWritten, SourceCode

PAPER = "paper"  # the preset that changes no field


def declared(kind: str, subject: str, code: SourceCode) -> Iterator[Entry]:
    """Yield the entries in a file; raise ``NotWritten`` if they can only be determined by an import.

    Args:
        kind: The kind of entries that the file declares.
        subject: The name of the subject.
        code: The source of the file.
    """
    read: dict[str, Callable[[SourceCode], Iterator[dict[str, Any]]]] = {
        "study": _study, "theorem": _theorem, "instrument": _instruments, "measurement": _measurement,
    }  # fmt: skip
    for attributes in read[kind](code):
        yield Entry(kind, subject, code.module, **attributes)  # type: ignore[arg-type]


def _study(code: SourceCode) -> Iterator[dict[str, Any]]:
    family = lineage(code, code.assigned("STUDY"))
    options = fields(family)
    yield {
        "name": attribute(family, "name"), "ids": attribute(family, "ids"), "title": attribute(family, "title"),
        "source": attribute(family, "source"), "about": _doc(family[0][1]),
        "details": {
            "remarks": attribute(family, "remarks"), "needs": attribute(family, "needs"),
            "fields": {option.name: _plain(option.default) for option in options},
            "meanings": {option.name: option.meaning for option in options},
            "presets": {**attribute(family, "presets"), PAPER: {}},
        },
    }  # fmt: skip


def _theorem(code: SourceCode) -> Iterator[dict[str, Any]]:
    call = code.assigned("THEOREM")
    if not isinstance(call, ast.Call):
        raise NotWritten(f"{code.module} computes THEOREM")
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    texts = {name: code.value(given[name]) for name in ("id", "title", "statement", "source")}
    other_ids = code.value(given["ids"]) if "ids" in given else ()
    demonstrations = {}
    for demonstration in given["demonstrations"].elts:  # type: ignore[attr-defined]
        name, expected = demonstration.args[:2]
        demonstrations[code.value(name)] = code.value(expected)
    yield {
        "name": _written_name(given["check"]).replace("_", "-"), "ids": (texts["id"], *other_ids),
        "title": texts["title"], "source": texts["source"], "about": texts["statement"],
        "details": {
            "demonstrations": demonstrations, "on": _inputs(code, given),
            "symbols": code.value(given["symbols"]) if "symbols" in given else {},
            "in_print": code.value(given["in_print"]) if "in_print" in given else "",
        },
    }  # fmt: skip


def _inputs(code: SourceCode, given: dict[str | None, ast.expr]) -> list[dict[str, Any]]:
    """Return the inputs that a theorem can be checked on, with their options and the settings of the check."""
    on = given.get("on", ast.Dict([], []))
    variants = code.value(given["variants"]) if "variants" in given else ()
    inputs = []
    for kind, check in zip(on.keys, on.values, strict=True):  # type: ignore[attr-defined]
        family = lineage(code, kind)
        home, function = code.definition(_written_name(check), ast.FunctionDef)
        settings = {
            argument.arg: home.value(default)
            for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
            if argument.arg not in variants
        }
        inputs.append({"title": attribute(family, "title"), "options": fields(family), "settings": settings})
    return inputs


def _instruments(code: SourceCode) -> Iterator[dict[str, Any]]:
    for function in code.all(ast.FunctionDef):
        for mark in function.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "instrument":
                texts = {keyword.arg: code.value(keyword.value) for keyword in mark.keywords}
                about = _doc(function)
                yield {
                    "name": function.name, "ids": texts.get("ids", ()), "title": first_line(about),
                    "source": texts["source"], "about": about, "details": {},
                }  # fmt: skip


def _measurement(code: SourceCode) -> Iterator[dict[str, Any]]:
    family = lineage(code, code.assigned("MEASUREMENT"))
    about = _doc(family[0][1])
    names = ("arguments", "endings", "kept", "drawn", "verb")
    yield {
        "name": attribute(family, "name"), "ids": attribute(family, "ids"), "title": first_line(about),
        "source": attribute(family, "source"), "about": about,
        "details": {"options": fields(family), **{name: attribute(family, name) for name in names}},
    }  # fmt: skip


Family = list[tuple[SourceCode, ast.ClassDef]]


def lineage(code: SourceCode, name: ast.expr | None) -> Family:
    """Return a class and its base classes, nearest first, as far as their source is available."""
    home, node = code.definition(_written_name(name), ast.ClassDef)
    classes: Family = [(home, node)]
    for base in node.bases:
        with suppress(NotWritten):  # BaseModel and other classes from outside declare nothing that is needed
            classes += lineage(home, base)
    # As in Python's method resolution order, a common base comes after all classes that inherit from it.
    return [pair for i, pair in enumerate(classes) if pair[1].name not in {later.name for _, later in classes[i + 1 :]}]


def attribute(family: Family, name: str) -> Any:
    """Return the value of a class variable, from the nearest class that sets it."""
    for code, node in family:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and _written_name(statement.target) == name and statement.value:
                return code.value(statement.value)
            if isinstance(statement, ast.Assign) and [_written_name(t) for t in statement.targets] == [name]:
                return code.value(statement.value)
    raise NotWritten(f"{family[0][1].name} does not set {name}")


def fields(family: Family) -> list[Option]:
    """Return the fields of a Pydantic model in Pydantic's order: base classes first; subclasses override values."""
    options: dict[str, Option] = {}
    for code, node in reversed(family):
        for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
            if not isinstance(statement, ast.AnnAssign) or ast.unparse(statement.annotation).startswith("ClassVar"):
                continue
            name = _written_name(statement.target)
            if name.startswith("_") or name == "model_config":
                continue
            meaning = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            if not meaning and name in options:
                meaning = options[name].meaning
            required = statement.value is None
            default = None if required else code.value(statement.value)
            options[name] = Option(name, ast.unparse(statement.annotation), default, required, cleandoc(str(meaning)))
    return list(options.values())


def first_line(doc: str) -> str:
    """Return the first line of a docstring, without its period."""
    return doc.partition("\n")[0].rstrip(".")


def _written_name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    raise NotWritten(f"{ast.unparse(node) if node else 'nothing'} is not a plain name")


def _doc(node: ast.ClassDef | ast.FunctionDef) -> str:
    return ast.get_docstring(node) or ""


def _plain(value: Any) -> Any:
    """Return a value as JSON represents it: tuples become lists."""
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
