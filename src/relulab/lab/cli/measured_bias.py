"""How measurements of the subject bias look in a terminal: first what they mean, then the numbers."""

import shlex

from rich.markup import escape
from rich.table import Table

from relulab.lab.cli.tables import console
from relulab.lab.show.words import number
from relulab.subjects.bias.measurements import max_margin_report, separability_report

SHOWN = 8  # entries of a vector, rows of supports


def print_separability(document: dict) -> None:
    _print_labels(document)
    for row in document["layers"]:
        for line in separability_report.sentences(row):
            console.print(escape(line))
        if not row["worst"]:
            continue
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in ("row i", "row j", "x_iᵀx_j", "cosine", "wrong because"):
            table.add_column(column, justify="left" if column == "wrong because" else "right")
        for pair in row["worst"]:
            why = "labels differ" if pair["inner"] > 0 else "labels are equal"
            table.add_row(str(pair["i"]), str(pair["j"]), number(pair["inner"]), f"{pair['cosine']:.4f}", why)
        console.print(table)
    if document["layers"][0]["separable"]:
        console.print(
            "IB theorem 1 speaks about such data if the support examples of both classes span all dimensions: "
            f"relulab measure max-margin {escape(_words(document))}"
        )
    else:
        console.print("IB theorem 1 says nothing about networks trained on these data.")
    _print_files(document, "separable rows and worst pairs")


def print_max_margin(document: dict) -> None:
    _print_labels(document)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("", "margin 1/‖w‖", "supports", "rank", "KKT residual", "direction w/‖w‖"):
        table.add_column(column, justify="left" if column.startswith("dir") else "right")
    for sign, name in (("₊", "positive"), ("₋", "negative")):
        side = document[name]
        direction = ", ".join(f"{w * side['margin']:.3f}" for w in side["w"][:SHOWN])
        table.add_row(
            f"w{sign}", number(side["margin"]), str(len(side["supports"])), f"{side['rank']} of {document['columns']}",
            number(side["residual"]), direction + (" …" if len(side["w"]) > SHOWN else ""),
        )  # fmt: skip
    console.print(table)
    console.print(f"The cosine of w₊ and w₋ is {document['cosine']:.4f}.")
    for line in max_margin_report.sentences(document, document["columns"]):
        console.print(escape(line))
    _print_files(document, "vectors, multipliers and supports")


def _words(document: dict) -> str:
    """The data, as one would write them on the command line."""
    label = document["label"]
    return shlex.quote(document["data"]) + (f" --label {shlex.quote(label)}" if label is not None else "")


def _print_labels(document: dict) -> None:
    minus, plus = (escape(document["labels"][sign]) for sign in "-+")
    console.print(f"{escape(document['data'])}: label {plus} is +1, label {minus} is −1", style="dim")


def _print_files(document: dict, what: str) -> None:
    console.print(f"{what} are in {escape(document['out'])}" if document["out"] else f"--out FILE.npz keeps the {what}")
    if document["figure"]:
        console.print(f"the picture is in {escape(document['figure'])}")
