"""The commands that only show information: list, show, cite, env."""

from itertools import groupby
from typing import Annotated

import typer

from relulab.lab.cli.complete import all_names
from relulab.lab.cli.generated import Json
from relulab.lab.index.entry import ROOMS

KINDS = tuple(ROOMS.values())
Id = Annotated[
    str, typer.Argument(metavar="ID", help="Name or id, for example recovery or SS.F7.", autocompletion=all_names)
]


def list_(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="WORD", help="List only items with this text in their id, name, title, kind or subject."
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """List all studies, theorems, instruments and measurements, with their ids in the papers."""
    from relulab.lab.cli.terminal import print_entries, print_json
    from relulab.lab.index import entries, matching, subjects

    rows = entries() if word is None else matching(entries(), word)
    if json_:
        return print_json([row.row for row in rows])
    for subject, group in groupby(rows, key=lambda row: row.subject):
        print_entries(subjects()[subject], list(group))


def show(
    id: Id,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            "-k",
            metavar="KIND",
            help="study, theorem, instrument or measurement, where several have the same name or id.",
            autocompletion=lambda: list(KINDS),
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Show a study, theorem, instrument or measurement: what it is, its options, and how to run it."""
    from relulab.core.errors import UserError, nearest
    from relulab.lab.cli.terminal import print_document, print_json
    from relulab.lab.index import entry
    from relulab.lab.show.entry_document import also, document, readable

    if kind is not None and kind not in KINDS:
        raise UserError(f"--kind: there is no kind {kind!r}: {nearest(kind, KINDS)}")
    chosen = entry(id, *filter(None, [kind]))
    description = document(chosen) | also(id, chosen)
    shown = readable(description)
    if not json_:
        print_document(shown)
    if chosen.kind == "study":
        from relulab.lab.run.costs import costs, in_words

        seconds = costs(chosen.name)
        description["cost"] = seconds
        if not json_:  # last, because it takes a moment: the study is imported, and the machine measured
            print_document({"cost": in_words(seconds)}, after=shown)
    if json_:
        print_json(description)


def cite(
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="Name or id of an item, or a paper, for example SS.F7 or IB.", autocompletion=all_names
        ),
    ],
    json_: Json = False,
) -> None:
    """Print BibTeX entries for the paper behind a result and for relulab."""
    from relulab.lab.citation import cited, software
    from relulab.lab.cli.terminal import print_json

    papers = cited(id)
    if json_:
        return print_json({"papers": {p.tag: p.bibtex for p in papers}, "software": software()})
    print("\n\n".join([*(paper.bibtex for paper in papers), software()]))


def env(json_: Json = False) -> None:
    """Show the package versions, machine and commit that a run records."""
    from relulab.lab.cli.terminal import print_document, print_json
    from relulab.lab.run.environment import environment

    document = environment()
    print_json(document) if json_ else print_document(document)
