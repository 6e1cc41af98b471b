"""Index entries read from the source of a file, without importing it."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from relulab.lab.index.class_source import attribute, fields, lineage, origin, written_name
from relulab.lab.index.entry import Entry
from relulab.lab.index.problems import NotWritten
from relulab.lab.index.source_code import SourceCode

PAPER = "paper"  # the preset that changes no field
STUDY, INPUT = ("relulab.lab.study", "Study"), ("relulab.lab.input", "Input")
THEOREM, MEASUREMENT = ("relulab.lab.theorem", "Theorem"), ("relulab.lab.measurement", "Measurement")
DEMONSTRATION, INSTRUMENT = ("relulab.lab.theorem", "Demonstration"), ("relulab.lab.instrument", "instrument")


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
    try:
        found = list(read[kind](code))
    except NotWritten:
        raise
    except Exception as error:  # legal Python can be written in more ways than are read here
        raise NotWritten(f"{code.module} is written in an unusual way: {error}") from None
    for attributes in found:
        yield Entry(kind, subject, code.module, **attributes, from_source=True)  # type: ignore[arg-type]


def _study(code: SourceCode) -> Iterator[dict[str, Any]]:
    family = lineage(code, code.assigned("STUDY"), STUDY)
    options = fields(family)
    yield {
        "name": attribute(family, "name"), "ids": attribute(family, "ids"), "title": attribute(family, "title"),
        "source": attribute(family, "source"), "about": _doc(family[0][1]),
        "details": {
            "remarks": attribute(family, "remarks"), "needs": attribute(family, "needs"),
            "symbols": attribute(family, "symbols"),
            "fields": {option.name: _plain(option.default) for option in options},
            "meanings": {option.name: option.meaning for option in options},
            "annotations": {option.name: option.annotation for option in options},
            "presets": {**attribute(family, "presets"), PAPER: {}},
        },
    }  # fmt: skip


def _theorem(code: SourceCode) -> Iterator[dict[str, Any]]:
    given = _keywords(code, code.assigned("THEOREM"), THEOREM)
    texts = {name: code.value(given[name]) for name in ("id", "title", "statement", "source")}
    other_ids = code.value(given["ids"]) if "ids" in given else ()
    demonstrations = {}
    for demonstration in given["demonstrations"].elts:  # type: ignore[attr-defined]
        _keywords(code, demonstration, DEMONSTRATION, 3)
        name, expected, _ = demonstration.args
        demonstrations[code.value(name)] = code.value(expected)
    yield {
        "name": written_name(given["check"]).replace("_", "-"), "ids": (texts["id"], *other_ids),
        "title": texts["title"], "source": texts["source"], "about": texts["statement"],
        "details": {
            "demonstrations": demonstrations, "on": _inputs(code, given),
            "symbols": code.value(given["symbols"]) if "symbols" in given else {},
            "in_print": code.value(given["in_print"]) if "in_print" in given else "",
        },
    }  # fmt: skip


def _keywords(code: SourceCode, call: ast.expr, of: tuple[str, str], positional: int = 0) -> dict[str | None, ast.expr]:
    """Return the keywords of a call of one function, which has no others and this many positional arguments."""
    if not isinstance(call, ast.Call) or origin(code, call.func) != of or len(call.args) != positional:
        raise NotWritten(f"{code.module} computes {of[1]}")
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in given:
        raise NotWritten(f"{code.module} gives keywords in a dictionary")
    return given


def _inputs(code: SourceCode, given: dict[str | None, ast.expr]) -> list[dict[str, Any]]:
    """Return the inputs that a theorem can be checked on, with their options and the settings of the check."""
    on = given.get("on", ast.Dict([], []))
    variants = code.value(given["variants"]) if "variants" in given else ()
    inputs = []
    for kind, check in zip(on.keys, on.values, strict=True):  # type: ignore[attr-defined]
        family = lineage(code, kind, INPUT)
        home, function = code.definition(written_name(check), ast.FunctionDef)
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
            name = mark.func if isinstance(mark, ast.Call) else mark
            if isinstance(name, ast.Attribute) and name.attr == INSTRUMENT[1]:
                raise NotWritten(f"{code.module}: the decorator {ast.unparse(name)} is not a plain name")
            if not isinstance(name, ast.Name) or origin(code, name) != INSTRUMENT:
                continue
            texts = {keyword: code.value(value) for keyword, value in _keywords(code, mark, INSTRUMENT).items()}
            about = _doc(function)
            if not about:
                raise NotWritten(f"{code.module}: {function.name} has no docstring")
            yield {
                "name": function.name, "ids": texts.get("ids", ()), "title": first_line(about),
                "source": texts["source"], "about": about, "details": {},
            }  # fmt: skip


def _measurement(code: SourceCode) -> Iterator[dict[str, Any]]:
    family = lineage(code, code.assigned("MEASUREMENT"), MEASUREMENT)
    about = _doc(family[0][1])
    names = ("arguments", "endings", "kept", "drawn", "verb")
    yield {
        "name": attribute(family, "name"), "ids": attribute(family, "ids"), "title": first_line(about),
        "source": attribute(family, "source"), "about": about,
        "details": {"options": fields(family), **{name: attribute(family, name) for name in names}},
    }  # fmt: skip


def first_line(doc: str) -> str:
    """Return the first line of a docstring, without its period."""
    return doc.partition("\n")[0].rstrip(".")


def _doc(node: ast.ClassDef | ast.FunctionDef) -> str:
    return ast.get_docstring(node) or ""


def _plain(value: Any) -> Any:
    """Return a value as JSON represents it: tuples become lists."""
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
