"""Verbs that only look: list, show, cite, env."""

from itertools import groupby
from typing import Annotated

import typer

from relulab.lab.cli.complete import all_names
from relulab.lab.cli.generated import Json

Id = Annotated[str, typer.Argument(help="A name or an id, for instance recovery or SS.F7.", autocompletion=all_names)]


def list_(
    word: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="Only what has it in an id, name, title, kind or subject.")
    ] = None,
    json_: Json = False,
) -> None:
    """Every study, theorem, instrument and measurement, by subject, with the ids of the papers' items it covers."""
    from relulab.lab.cli.terminal import errors, print_entries, print_json
    from relulab.lab.index import PROBLEMS, entries, matching, subjects

    rows = entries() if word is None else matching(entries(), word)
    if json_:
        return print_json([row.row for row in rows])
    for subject, things in groupby(rows, key=lambda row: row.subject):
        print_entries(subjects()[subject], list(things))
    for module, why in PROBLEMS.items():
        errors.print(f"{module} cannot be imported: {why}", highlight=False, markup=False, soft_wrap=True)


def show(id: Id, json_: Json = False) -> None:
    """What a study, theorem, instrument or measurement is, its fields or its statement, and how to run it."""
    from relulab.lab.cli.terminal import print_document, print_json
    from relulab.lab.index import entry
    from relulab.lab.show.entry_document import document, readable

    found = document(entry(id))
    print_json(found) if json_ else print_document(readable(found))


def cite(
    id: Annotated[
        str, typer.Argument(help="A name, an id or a paper, for instance SS.F7 or IB.", autocompletion=all_names)
    ],
    json_: Json = False,
) -> None:
    """BibTeX of the paper behind a result, and of relulab."""
    from relulab.lab.citation import cited, software
    from relulab.lab.cli.terminal import print_json

    papers = cited(id)
    if json_:
        return print_json({"papers": {p.tag: p.bibtex for p in papers}, "software": software()})
    print("\n\n".join([*(paper.bibtex for paper in papers), software()]))


def env(json_: Json = False) -> None:
    """Versions, machine and commit that a run would record."""
    from relulab.lab.cli.terminal import print_document, print_json
    from relulab.lab.run.environment import environment

    document = environment()
    print_json(document) if json_ else print_document(document)
