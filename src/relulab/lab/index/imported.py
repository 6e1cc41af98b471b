"""Index entries taken from imported objects, for files whose source alone does not determine them."""

from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc
from sys import modules
from typing import TYPE_CHECKING, Any

from relulab.core.errors import UserError
from relulab.lab.index.declared import PAPER, first_line
from relulab.lab.index.entry import Entry, Option

if TYPE_CHECKING:
    from pydantic import BaseModel


def imported(kind: str, subject: str, module: str) -> Iterator[Entry]:
    """Import a module and yield its entries."""
    read = {"study": _study, "theorem": _theorem, "instrument": _instruments, "measurement": _measurement}[kind]
    for attributes in read(import_module(module)):
        yield Entry(kind, subject, module, **attributes)  # type: ignore[arg-type]


def _object(module: Any, name: str, base: type) -> Any:
    """Return what a module defines under a name; None if it only imports this from another file of the catalog."""
    if not hasattr(module, name):
        raise UserError(f"{module.__file__} does not define {name}: add a line {name} = …")
    found = getattr(module, name)
    if not (issubclass(found, base) if isinstance(found, type) else isinstance(found, base)):
        raise UserError(f"{module.__file__}: expected {name} to be a {base.__name__}, got {found!r}")
    home = getattr(found, "__module__", module.__name__)
    room = module.__name__.rpartition(".")[0]
    elsewhere = home != module.__name__ and home.startswith(f"{room}.") and hasattr(modules.get(home), name)
    return None if elsewhere else found


def _study(module: Any) -> Iterator[dict[str, Any]]:
    from relulab.lab.study import Study, check_study

    study = _object(module, "STUDY", Study)
    if study is None:
        return
    check_study(study)
    yield {
        "name": study.name, "ids": study.ids, "title": study.title, "source": study.source,
        "about": getdoc(study) or "",
        "details": {
            "remarks": study.remarks, "needs": study.needs, "symbols": study.symbols,
            "fields": study.configured(PAPER).model_dump(mode="json"),
            "meanings": {option.name: option.meaning for option in options(study)},
            "annotations": {option.name: option.annotation for option in options(study)},
            "presets": {**study.presets, PAPER: {}},
        },
    }  # fmt: skip


def _theorem(module: Any) -> Iterator[dict[str, Any]]:
    from relulab.lab.input import Input
    from relulab.lab.theorem import Theorem

    theorem = _object(module, "THEOREM", Theorem)
    for kind in theorem.on:
        if not issubclass(kind, Input):
            raise UserError(f"{module.__file__}: expected subclasses of relulab.lab.input.Input in on, got {kind!r}")
    yield {
        "name": theorem.name, "ids": (theorem.id, *theorem.ids), "title": theorem.title, "source": theorem.source,
        "about": theorem.statement,
        "details": {
            "demonstrations": {each.name: each.expected.name for each in theorem.demonstrations},
            "symbols": dict(theorem.symbols), "in_print": theorem.in_print,
            "on": [
                {"title": kind.title, "options": options(kind), "settings": theorem.defaults(kind)}
                for kind in theorem.on
            ],
        },
    }  # fmt: skip


def _instruments(module: Any) -> Iterator[dict[str, Any]]:
    from relulab.lab.instrument import REGISTRY

    for registered in REGISTRY.values():
        if registered.function.__module__ == module.__name__:
            yield {
                "name": registered.name, "ids": registered.ids, "title": registered.title,
                "source": registered.source, "about": getdoc(registered.function) or "",
            }  # fmt: skip


def _measurement(module: Any) -> Iterator[dict[str, Any]]:
    from relulab.lab.measurement import Measurement

    measurement = _object(module, "MEASUREMENT", Measurement)
    if measurement is None:
        return
    about, names = getdoc(measurement) or "", ("arguments", "endings", "kept", "drawn", "verb")
    yield {
        "name": getattr(measurement, "name", None), "ids": measurement.ids, "title": first_line(about),
        "source": measurement.source,
        "about": about,
        "details": {"options": options(measurement), **{name: getattr(measurement, name) for name in names}},
    }  # fmt: skip


def options(model: "type[BaseModel]") -> list[Option]:
    """Return the fields of a model as options."""
    return [
        Option(
            name, _text(field.annotation), None if field.is_required() else field.get_default(), field.is_required(),
            field.description or "",
        )
        for name, field in model.model_fields.items()
    ]  # fmt: skip


def _text(annotation: Any) -> str:
    return annotation.__name__ if annotation.__class__ is type else str(annotation)
