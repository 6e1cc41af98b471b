"""The verb check: a theorem's demonstrations, or the theorem on files of a user's own."""

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from relulab.lab.cli.complete import theorem_names
from relulab.lab.cli.generated import Json, parameter, set_signature
from relulab.lab.cli.work import Runs
from relulab.lab.index import entries, entry
from relulab.lab.index.entry import Option


def add_check(app: typer.Typer, whole: bool = True) -> None:
    """Adds the verb, with the options of every input that some theorem can be checked on if it is the ``whole``."""
    fixed = inspect.signature(_check).parameters
    asked = [parameter(option) for option in _options()] if whole else []
    set_signature(check, [fixed["id"], *asked, *(p for name, p in fixed.items() if name != "id")])
    app.command("check")(check)


def _options() -> list[Option]:
    """The options of all inputs; one that several inputs have says what it is for each of them."""
    found: dict[str, list[Option]] = {}
    for found_entry in entries("theorem"):
        for one in found_entry.details.get("on", []):
            for option in one["options"]:
                found.setdefault(option.name, []).append(option)
    return [
        Option(name, same[0].annotation, None, False, " Or: ".join(dict.fromkeys(one.meaning for one in same)))
        for name, same in found.items()
    ]


def _check(
    *,
    id: Annotated[
        str,
        typer.Argument(
            metavar="THEOREM", help="A theorem's id or name, for instance SS.L1.", autocompletion=theorem_names
        ),
    ],
    set_: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="A setting of the check on files, as epsilon=0.05.")
    ] = None,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """The parameters that do not depend on the theorem."""


def check(**given: Any) -> None:
    """Run a theorem's demonstrations, or check it on networks and data of your own."""
    id, words, runs, as_json = (given.pop(name) for name in ("id", "set_", "runs", "json_"))
    entry(id, "theorem")  # a mistyped id is found before anything heavy is loaded
    from relulab.lab.catalog import find_theorem
    from relulab.lab.cli.terminal import print_check, print_json, print_parts, working
    from relulab.lab.run.settings import assigned
    from relulab.lab.show.finding_parts import finding_parts

    theorem = find_theorem(id)
    options = {name: value for name, value in given.items() if value not in (None, [])}
    if options or words:
        with working(f"checking {theorem.id} …"):
            finding = theorem.check_files(options, assigned(words or [], "epsilon=0.05"))
        document = {"theorem": theorem.id, **options, **finding.to_dict()}
        print_json(document) if as_json else print_parts(finding_parts(document))
        raise typer.Exit(0 if document["verdict"] == "HOLDS" else 1)
    document = demonstrate(theorem, runs)
    print_json(document) if as_json else print_check(document)
    raise typer.Exit(0 if as_expected([document]) else 1)


def demonstrate(theorem: Any, runs: Path) -> dict[str, Any]:
    """The demonstrations, kept for the report."""
    from relulab.lab.cli.terminal import errors, working
    from relulab.lab.run.store import write_json

    with working(f"checking {theorem.id} …"):
        document = theorem.demonstrate()
    about = {"title": theorem.title, "statement": theorem.statement, "source": theorem.source}
    try:
        (runs / "checks").mkdir(parents=True, exist_ok=True)
        write_json(runs / "checks" / f"{theorem.id}.json", document | about)
    except OSError as error:
        errors.print(f"not kept for the report: {runs}: {error.strerror}", highlight=False, soft_wrap=True)
    return document


def as_expected(checks: list[dict[str, Any]]) -> bool:
    """Whether every demonstration came out as it should."""
    return all(d["expected"] == d["verdict"] for check in checks for d in check["demonstrations"])
