"""Verbs that only look: list, show, env."""

import json
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def list_(
    word: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="Only what has it in an id, name, title, kind or subject.")
    ] = None,
    json_: Json = False,
) -> None:
    """Every study, theorem and instrument, with the ids of the papers' items that it covers."""
    from relulab.lab.catalogue import listing, matching

    rows = listing() if word is None else matching(listing(), word)
    if json_:
        return print_json(rows)
    from rich.table import Table

    from relulab.lab.cli.tables import console

    table = Table(box=None, header_style="bold")
    for column in ("kind", "name", "ids", "title"):
        table.add_column(column)
    for row in rows:
        table.add_row(row["kind"], row["name"], " ".join(row["ids"]), row["title"])
    console.print(table)


def show(
    id: Annotated[str, typer.Argument(help="A name or an id, for instance recovery or SS.F7.")],
    json_: Json = False,
) -> None:
    """What a study, theorem or instrument is, its fields or its statement, and how to run it."""
    from inspect import getdoc

    from relulab.lab.catalogue import find
    from relulab.lab.study import Study
    from relulab.lab.theorem import Theorem

    thing = find(id)
    if isinstance(thing, type) and issubclass(thing, Study):
        values = thing.configured("paper").model_dump(mode="json")
        document = {
            "study": thing.name, "ids": list(thing.ids), "title": thing.title, "source": thing.source,
            "about": getdoc(thing), "remarks": thing.remarks, "fields": values,
            "meanings": {name: field.description for name, field in thing.model_fields.items()},
            "presets": {**thing.presets, "paper": {}}, "run": f"relulab run {thing.name} --preset quick",
        }  # fmt: skip
        if thing.needs:
            document["needs"] = thing.needs
    elif isinstance(thing, Theorem):
        document = {
            "theorem": thing.id, "title": thing.title, "source": thing.source, "statement": thing.statement,
            "demonstrations": {d.name: d.expected.name for d in thing.demonstrations},
            "run": f"relulab check {thing.id}",
        }  # fmt: skip
        if thing.on_files:
            words = "".join(f" --set {k}={'…' if v is None else _plain(v)}" for k, v in thing.defaults.items())
            files = " ".join(f"--{name} {name.upper()}" for name in thing.files)
            more = "".join(f" [--{name} {name.upper()}]" for name in thing.optional_files)
            document["on files"] = f"relulab check {thing.id} {files}{more}{words}"
    else:
        document = {
            "instrument": thing.name, "title": thing.title, "source": thing.source, "about": getdoc(thing.function),
            "run": f"from relulab import {thing.name}",
        }  # fmt: skip
    if json_:
        return print_json(document)
    from relulab.lab.cli.tables import print_document

    meanings = document.pop("meanings", {})
    if meanings:
        document["fields"] = {k: f"{_plain(v)}  ({meanings[k]})" for k, v in document["fields"].items()}
        document["presets"] = {k: ", ".join(f"{n}={_plain(v)}" for n, v in p.items()) or "the values above"
                               for k, p in document["presets"].items()}  # fmt: skip
    print_document({k: ", ".join(v) if isinstance(v, list) else v for k, v in document.items()})


def _plain(value: object) -> str:
    """A value as one would write it after --set."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def env(json_: Json = False) -> None:
    """Versions, machine and commit that a run would record."""
    from relulab.lab.run.environment import environment

    document = environment()
    if json_:
        return print_json(document)
    from relulab.lab.cli.tables import print_document

    print_document(document)


def print_json(document: object) -> None:
    print(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))
