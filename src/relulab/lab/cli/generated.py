"""Commands made from the index: one for every measurement, from its options as they are written in its file.

A measurement is imported when its command runs, so help and completion answer at once.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from relulab.lab.index import Entry, entries
from relulab.lab.index.entry import Option

SHORT = {"data": "-d", "network": "-n", "out": "-o"}
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

MEASURE = (
    "Measure networks and data of your own, from files: safetensors, npz, PyTorch state dicts, exported programs "
    "(.pt2), tables (.csv, .tsv, .parquet)."
)


def add_measurements(app: typer.Typer) -> None:
    """Adds a command for each measurement: below ``measure``, or beside it if it is a verb of its own."""
    measure = typer.Typer(help=MEASURE, no_args_is_help=True)
    for entry in entries("measurement"):
        group = app if entry.details["verb"] else measure
        group.command(entry.name, help=entry.about)(command(entry))
    app.add_typer(measure, name="measure")


def command(entry: Entry) -> Callable[..., None]:
    """The function behind a measurement's command, with a parameter for each of its options."""

    def run(**given: Any) -> None:
        from relulab.lab.cli.measured import run_measurement

        out, figure, as_json = (given.pop(name, None) for name in ("out", "figure", "json_"))
        run_measurement(entry.name, {k: v for k, v in given.items() if v not in (None, [])}, out, figure, as_json)

    parameters = [parameter(option, option.name in entry.details["arguments"]) for option in entry.details["options"]]
    endings, drawn = entry.details["endings"], entry.details["drawn"]
    if endings:
        words = f"Write {entry.details['kept']}: {', '.join(endings)}."
        parameters.append(_parameter("out", Path | None, _option("out", words)))
    if drawn:
        parameters.append(_parameter("figure", Path | None, _option("figure", f"Draw {drawn}: .png, .svg or .pdf.")))
    parameters.append(inspect.Parameter("json_", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json))
    set_signature(run, parameters)
    return run


def parameter(option: Option, positional: bool = False) -> inspect.Parameter:
    """The parameter of an option: text that the measurement itself checks, or a flag."""
    if positional:
        info: Any = typer.Argument(help=option.meaning, metavar=option.name.upper() + "..." * option.several)
    else:
        default = option.default if not option.flag else {True: "yes", False: "no"}[bool(option.default)]
        info = _option(option.name, option.meaning, metavar=_metavar(option), flag=option.flag, default=default)
    kind: Any = bool if option.flag else list[str] if option.several else str
    return _parameter(option.name, kind if option.required else kind | None, info, option.required)


def _option(name: str, words: str, *, metavar: str | None = None, flag: bool = False, default: Any = None) -> Any:
    long = f"--{name.replace('_', '-')}"
    declarations = [f"{long}/--no-{long[2:]}"] if flag else [long, *([SHORT[name]] if name in SHORT else [])]
    shown = str(default) if default is not None else False
    return typer.Option(*declarations, help=words, metavar=metavar, show_default=shown)


def _metavar(option: Option) -> str | None:
    """What stands for the value in the help."""
    words = {"Path": "FILE", "int": "INTEGER", "float": "NUMBER"}
    return None if option.flag else next((shown for kind, shown in words.items() if kind in option.annotation), "TEXT")


def _parameter(name: str, kind: Any, info: Any, required: bool = False) -> inspect.Parameter:
    default = inspect.Parameter.empty if required else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def set_signature(function: Any, parameters: list[inspect.Parameter]) -> None:
    """Gives a function that takes any keywords the parameters that Typer is to see."""
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {one.name: one.annotation for one in parameters}
