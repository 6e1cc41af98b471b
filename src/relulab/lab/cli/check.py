"""The command ``check``: run a theorem's demonstrations, or check the theorem on files from a user."""

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from relulab.lab.cli.complete import theorem_names
from relulab.lab.cli.generated import Json, parameter, set_signature
from relulab.lab.cli.options import Runs
from relulab.lab.index import Entry, entries, entry
from relulab.lab.index.entry import Option


def add_check(app: typer.Typer, with_options: bool = True) -> None:
    """Add the command to ``app``.

    Args:
        app: The command line.
        with_options: Whether to add the options of every input that some theorem can be checked on.
    """
    fixed = inspect.signature(_check).parameters
    input_options = [parameter(option) for option in _options()] if with_options else []
    set_signature(check, [fixed["id"], *input_options, *(p for name, p in fixed.items() if name != "id")])
    app.command("check")(check)


def _options() -> list[Option]:
    """Return the options of all inputs. An option of several inputs lists its meaning for each of them."""
    options: dict[str, list[Option]] = {}
    for theorem in entries("theorem"):
        for kind in theorem.details.get("on", []):
            for option in kind["options"]:
                options.setdefault(option.name, []).append(option)
    return [
        Option(name, same[0].annotation, None, False, " Or: ".join(dict.fromkeys(option.meaning for option in same)))
        for name, same in options.items()
    ]


def _check(
    *,
    id: Annotated[
        str,
        typer.Argument(
            metavar="THEOREM", help="Id or name of a theorem, for example SS.L1.", autocompletion=theorem_names
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            metavar="NAME=VALUE",
            help="Setting of a check on files, for example epsilon=0.05. Can be repeated.",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Declare the parameters that do not depend on the theorem."""


def check(**given: Any) -> None:
    """Run the demonstrations of a theorem, or check it on your own networks and data."""
    id, assignments, runs, as_json = (given.pop(name) for name in ("id", "set_", "runs", "json_"))
    from relulab.lab.run.settings import assigned

    # Mistakes are reported before anything slow is imported.
    listed, settings = entry(id, "theorem"), assigned(assignments or [], "epsilon=0.05")
    options = {name: value for name, value in given.items() if value not in (None, [])}
    if options or settings:
        _check_options(listed, options, settings)
    from relulab.lab.catalog import find_theorem
    from relulab.lab.cli.terminal import print_check, print_json, print_parts, working
    from relulab.lab.index.terms import meanings
    from relulab.lab.show.finding_parts import finding_parts, finding_texts
    from relulab.lab.show.parts import note_lines

    theorem = find_theorem(id)
    if options or settings:
        with working(f"checking {theorem.id} …"):
            finding = theorem.check_files(options, settings)
        document = {"theorem": theorem.id, **options, **finding.to_dict(), "notes": list(finding.notes)}
        document["symbols"] = meanings(theorem.id, theorem.symbols, finding_texts(document))
        print_json(document) if as_json else print_parts([*finding_parts(document), *note_lines(finding.notes)])
        raise typer.Exit(0 if document["verdict"] == "HOLDS" else 1)
    document = demonstrate(theorem, runs)
    print_json(document) if as_json else print_check(document)
    raise typer.Exit(0 if as_expected([document]) else 1)


def _check_options(theorem: Entry, options: dict[str, Any], settings: dict[str, Any]) -> None:
    """Raise a UserError for what is wrong with options, settings and files."""
    from relulab.lab.index.sketch import check_files, input_sketch
    from relulab.lab.input import check_settings, fitting_input

    kinds = {input_sketch(on["options"], title=on["title"]): on["settings"] for on in theorem.details["on"]}
    kind = fitting_input(theorem.ids[0], list(kinds), options)
    given = kind.given(**options)
    check_settings(theorem.ids[0], kinds[kind], settings)
    check_files(given)


def demonstrate(theorem: Any, runs: Path) -> dict[str, Any]:
    """Run the demonstrations and save the results for the report."""
    from relulab.lab.cli.terminal import errors, working
    from relulab.lab.index.terms import meanings
    from relulab.lab.run.documents import write_json
    from relulab.lab.show.entry_document import usages
    from relulab.lab.show.finding_parts import finding_texts

    with working(f"checking {theorem.id} …"):
        document = theorem.demonstrate()
    texts = [theorem.title, theorem.statement, theorem.in_print]
    texts += [text for case in document["demonstrations"] for text in (case["name"], *finding_texts(case))]
    about = {
        "title": theorem.title, "statement": theorem.statement, "source": theorem.source,
        "symbols": meanings(theorem.id, theorem.symbols, texts), "in_print": theorem.in_print,
        "on_files": usages(entry(theorem.id, "theorem")),
    }  # fmt: skip
    document |= about
    try:
        (runs / "checks").mkdir(parents=True, exist_ok=True)
        write_json(runs / "checks" / f"{theorem.id}.json", document)
    except OSError as error:
        errors.print(
            f"the result was not saved for the report: cannot write to {runs} ({error.strerror})",
            soft_wrap=True,
            markup=False,
        )
    return document


def as_expected(checks: list[dict[str, Any]]) -> bool:
    """Whether every demonstration gave the expected verdict."""
    return all(d["expected"] == d["verdict"] for check in checks for d in check["demonstrations"])
