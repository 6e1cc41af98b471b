"""Commands generated from the index: one for each measurement, with the options declared in its file.

A measurement is imported only when its command runs, so that help and completion are fast.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from relulab.lab.index import Entry, entries
from relulab.lab.index.entry import Option, option_name

SHORT = {"data": "-d", "network": "-n", "out": "-o"}
Json = Annotated[bool, typer.Option("--json", help="Print a single JSON document and nothing else.")]

MEASURE = (
    "Measure your own networks and data. Networks: safetensors, npz, PyTorch state dicts or exported programs (.pt2). "
    "Data: tables (.csv, .tsv, .txt, .parquet), .npy, .npz, .safetensors, .pt and idx files; text and .npy also as .gz."
)


def add_measurements(app: typer.Typer) -> None:
    """Add a command for each measurement, under ``measure`` or at the top level if it is a ``verb``."""
    measure = typer.Typer(help=MEASURE, no_args_is_help=True)
    for entry in entries("measurement"):
        group = app if entry.details["verb"] else measure
        group.command(entry.name, help=entry.about)(command(entry))
    app.add_typer(measure, name="measure")


def command(entry: Entry) -> Callable[..., None]:
    """Return the function behind the command of a measurement, with a parameter for each of its options."""

    def run(**given: Any) -> None:
        out, figure, as_json = (given.pop(name, None) for name in ("out", "figure", "json_"))
        options = {name: value for name, value in given.items() if value not in (None, [])}
        _check(entry, options, out, figure)
        from relulab.lab.cli.measured import run_measurement

        run_measurement(entry.name, options, out, figure, as_json)

    # Required options first, in the order of the class; options that several measurements share come from base classes.
    options = sorted(entry.details["options"], key=lambda option: not option.required)
    parameters = [parameter(option, option.name in entry.details["arguments"]) for option in options]
    endings, drawn = entry.details["endings"], entry.details["drawn"]
    if endings:
        text = f"Write {entry.details['kept']} to a file: {', '.join(endings)}."
        parameters.append(_parameter("out", Path | None, _option("out", text, metavar="FILE")))
    if drawn:
        text = f"Draw {drawn}: .png, .svg or .pdf."
        parameters.append(_parameter("figure", Path | None, _option("figure", text, metavar="FILE")))
    parameters.append(inspect.Parameter("json_", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json))
    set_signature(run, parameters)
    return run


def _check(entry: Entry, options: dict[str, Any], out: Path | None, figure: Path | None) -> None:
    """Raise a UserError for what is wrong with values and files, before the measurement is imported."""
    from relulab.lab.index.sketch import check_files, input_sketch
    from relulab.lab.run.documents import PICTURES, check_place

    for path, endings in ((out, entry.details["endings"]), (figure, PICTURES)):
        if path:
            check_place(path, endings)
    check_files(input_sketch(entry.details["options"], arguments=entry.details["arguments"]).given(**options))


def parameter(option: Option, positional: bool = False) -> inspect.Parameter:
    """Return the parameter for an option: text, which the measurement validates itself, or a flag."""
    if positional:
        info: Any = typer.Argument(help=option.meaning, metavar=option.name.upper())
    else:
        default = option.default if not option.flag else {True: "yes", False: "no"}[bool(option.default)]
        info = _option(option.name, option.meaning, metavar=_metavar(option), flag=option.flag, default=default)
    kind: Any = bool if option.flag else list[str] if option.several else str
    return _parameter(option.name, kind if option.required else kind | None, info, option.required)


def _option(name: str, text: str, *, metavar: str | None = None, flag: bool = False, default: Any = None) -> Any:
    long = option_name(name)
    declarations = [f"{long}/--no-{long[2:]}"] if flag else [long, *([SHORT[name]] if name in SHORT else [])]
    # Typer prints a default that is given as text in extra parentheses, so it goes into the help text.
    text = text if default is None else f"{text} Default: {default}."
    return typer.Option(*declarations, help=text, metavar=metavar, show_default=False)


def _metavar(option: Option) -> str | None:
    """Return the placeholder for the value in the help."""
    names = {"Path": "FILE", "int": "INTEGER", "float": "NUMBER"}
    return None if option.flag else next((shown for kind, shown in names.items() if kind in option.annotation), "TEXT")


def _parameter(name: str, kind: Any, info: Any, required: bool = False) -> inspect.Parameter:
    default = inspect.Parameter.empty if required else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def set_signature(function: Any, parameters: list[inspect.Parameter]) -> None:
    """Set the parameters that Typer sees on a function that takes any keywords."""
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
