"""What a file declares, as an entry of the index, read from its source alone."""

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import cleandoc
from typing import Any

from relulab.lab.index.entry import Entry, Option
from relulab.lab.index.source_code import NotWritten, SourceCode

PAPER = "paper"  # the preset that changes nothing


def declared(kind: str, subject: str, code: SourceCode) -> Iterator[Entry]:
    """The entries of a file in the room of some kind; ``NotWritten`` where only an import can tell."""
    read: dict[str, Callable[[SourceCode], Iterator[dict[str, Any]]]] = {
        "study": _study, "theorem": _theorem, "instrument": _instruments, "measurement": _measurement,
    }  # fmt: skip
    for found in read[kind](code):
        yield Entry(kind, subject, code.module, **found)  # type: ignore[arg-type]


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
    given = {word.arg: word.value for word in call.keywords}
    words = {name: code.value(given[name]) for name in ("id", "title", "statement", "source")}
    more = code.value(given["ids"]) if "ids" in given else ()
    demonstrations = {}
    for one in given["demonstrations"].elts:  # type: ignore[attr-defined]
        name, expected = one.args[:2]
        demonstrations[code.value(name)] = code.value(expected)
    yield {
        "name": _written_name(given["check"]).replace("_", "-"), "ids": (words["id"], *more), "title": words["title"],
        "source": words["source"], "about": words["statement"],
        "details": {"demonstrations": demonstrations, "on": _inputs(code, given)},
    }  # fmt: skip


def _inputs(code: SourceCode, given: dict[str | None, ast.expr]) -> list[dict[str, Any]]:
    """The inputs that a theorem can be checked on: their options, and the settings of the check."""
    on = given.get("on", ast.Dict([], []))
    variants = code.value(given["variants"]) if "variants" in given else ()
    found = []
    for kind, check in zip(on.keys, on.values, strict=True):  # type: ignore[attr-defined]
        family = lineage(code, kind)
        home, function = code.definition(_written_name(check), ast.FunctionDef)
        settings = {
            argument.arg: home.value(default)
            for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
            if argument.arg not in variants
        }
        found.append({"title": attribute(family, "title"), "options": fields(family), "settings": settings})
    return found


def _instruments(code: SourceCode) -> Iterator[dict[str, Any]]:
    for function in code.all(ast.FunctionDef):
        for mark in function.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "instrument":
                words = {word.arg: code.value(word.value) for word in mark.keywords}
                about = _doc(function)
                yield {
                    "name": function.name, "ids": words.get("ids", ()), "title": first_line(about),
                    "source": words["source"], "about": about, "details": {},
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
    """A class and the classes it inherits from, the nearest first, as far as their source is at hand."""
    home, node = code.definition(_written_name(name), ast.ClassDef)
    found: Family = [(home, node)]
    for base in node.bases:
        with suppress(NotWritten):  # BaseModel, ABC and the like declare nothing of ours
            found += lineage(home, base)
    # A base of several comes after the last of them, as Python has it.
    return [one for i, one in enumerate(found) if one[1].name not in {later.name for _, later in found[i + 1 :]}]


def attribute(family: Family, name: str) -> Any:
    """The value of a class variable, of the nearest class that sets it."""
    for code, node in family:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and _written_name(statement.target) == name and statement.value:
                return code.value(statement.value)
            if isinstance(statement, ast.Assign) and [_written_name(t) for t in statement.targets] == [name]:
                return code.value(statement.value)
    raise NotWritten(f"{family[0][1].name} does not set {name}")


def fields(family: Family) -> list[Option]:
    """The fields of a Pydantic model in Pydantic's order: those of the base first, the latest value counting."""
    found: dict[str, Option] = {}
    for code, node in reversed(family):
        for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
            if not isinstance(statement, ast.AnnAssign) or ast.unparse(statement.annotation).startswith("ClassVar"):
                continue
            name = _written_name(statement.target)
            if name.startswith("_") or name == "model_config":
                continue
            meaning = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            if not meaning and name in found:
                meaning = found[name].meaning
            required = statement.value is None
            default = None if required else code.value(statement.value)
            found[name] = Option(name, ast.unparse(statement.annotation), default, required, cleandoc(str(meaning)))
    return list(found.values())


def first_line(doc: str) -> str:
    """The first sentence of a docstring, without its full stop."""
    return doc.partition("\n")[0].rstrip(".")


def _written_name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    raise NotWritten(f"{ast.unparse(node) if node else 'nothing'} is no plain name")


def _doc(node: ast.ClassDef | ast.FunctionDef) -> str:
    return ast.get_docstring(node) or ""


def _plain(value: Any) -> Any:
    """As JSON has it: a tuple is a list."""
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
