"""How measurements of files look in a terminal: findings, matches, histories, pruned networks."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from relulab.lab.cli.tables import checks, console, verdict
from relulab.lab.show.words import number
from relulab.lab.theorem import Verdict

SHOWN = 30  # rows of a table


def print_finding(document: dict) -> None:
    """What a theorem says of a user's networks."""
    console.print(f"{verdict(document['verdict'])}  {Verdict[document['verdict']].value}")
    console.print(checks(document))
    for row in document.get("gradients", []):
        console.print(
            f"  layer {row['layer']}: |g| is {number(row['rms'])} in the mean square, {number(row['max'])} at most"
        )


def print_matches(document: dict) -> None:
    for layer in document["layers"]:
        console.print(
            f"[bold]layer {escape(layer['layer'])}[/]: {layer['a']} units of A, {layer['b']} of B; ρ_mean "
            f"{number(layer['rho_mean'])}; {layer['recovered']} followed above {document['threshold']:g}"
        )
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in ("unit of A", "best of B", "ρ"):
            table.add_column(column, justify="right")
        for node in sorted(layer["nodes"], key=lambda node: -node["rho"])[:SHOWN]:
            table.add_row(str(node["node"]), str(node["best"]), f"{node['rho']:.4f}")
        console.print(table)
        if len(layer["nodes"]) > SHOWN:
            console.print(f"… and {len(layer['nodes']) - SHOWN} more: see --json or --out", style="dim")


def print_pair(document: dict) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    names = ("teacher node", "‖v*‖‖w*‖", "student", "ε", "observers", "max |α|", f"within {document['width']:g}", "κ")
    for column in names:
        table.add_column(column, justify="right")
    for row in document["nodes"][:SHOWN]:
        table.add_row(
            str(row["node"]), number(row["strength"]), str(row["student"]),
            number(row["epsilon"]) + ("" if row["same_side"] else " (other side)"), str(row["observers"]),
            number(row["alpha"]), str(row["band"]), number(row["kappa"]),
        )  # fmt: skip
    console.print(table)
    if len(document["nodes"]) > SHOWN:
        console.print(f"… and {len(document['nodes']) - SHOWN} more: see --json", style="dim")
    console.print(f"largest |g_1| at the {document['points']:,} points: {number(document['gradient'])}")


def print_history(document: dict) -> None:
    for layer in document["layers"]:
        found = sum(node["recovered_at"] is not None for node in layer["nodes"])
        shifted = sum(map(bool, layer["shifts"]))
        console.print(
            f"[bold]layer {escape(layer['layer'])}[/]: {found} of {len(layer['nodes'])} teacher nodes recovered above "
            f"{document['threshold']:g}; {shifted} of {len(layer['shifts'])} students shifted their focus, "
            f"{sum(layer['shifts'])} times in all"
        )
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in ("teacher node", "strength", "student", "ρ", "followers"):
            table.add_column(column, justify="right")
        table.add_column("recovered at", overflow="fold")
        for row in layer["nodes"][:SHOWN]:
            when, size = row["recovered_at"], row["strength"]
            at = "–" if when is None else f"{when + 1}: {Path(document['checkpoints'][when]).name}"
            words = (str(row["node"]), "–" if size is None else number(size), str(row["student"]), f"{row['rho']:.4f}")
            table.add_row(*words, str(row["followers"]), escape(at))
        console.print(table)
        if len(layer["nodes"]) > SHOWN:
            console.print(f"… and {len(layer['nodes']) - SHOWN} more: see --json", style="dim")
    if document["figure"]:
        console.print(f"the correlations are in {document['figure']}")


def print_pruned(document: dict) -> None:
    aligned = "teacher" in document["groups"][0]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("kept", "Σ v‖w‖", *(("teacher node", "ε") if aligned else ())):
        table.add_column(column, justify="right")
    table.add_column("nodes of the group")
    for row in document["groups"][:SHOWN]:
        more = (str(row["teacher"]), number(row["epsilon"])) if aligned else ()
        nodes = ", ".join(map(str, row["nodes"][:SHOWN])) + (" …" if len(row["nodes"]) > SHOWN else "")
        table.add_row("✓" if row["kept"] else "", number(row["adds"]), *more, nodes)
    console.print(table)
    if len(document["groups"]) > SHOWN:
        console.print(f"… and {len(document['groups']) - SHOWN} more groups: see --json", style="dim")
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("kept nodes", "variance lost"):
        table.add_column(column, justify="right")
    for row in document["curve"]:
        table.add_row(str(row["kept"]), number(row["lost"]))
    console.print(table)
    lost, largest, bound = (number(document[key]) for key in ("lost", "largest", "bound"))
    console.print(
        f"{document['nodes']} nodes in {len(document['groups'])} groups, {document['kept']} kept. Lost is {lost} of "
        f"the output's variance; outputs on the data change by at most {largest}, within their box by at most {bound} "
        "before a refit."
    )
    console.print(f"written to {document['out']}" if document["out"] else "not written: -o FILE.safetensors keeps it")
    if document["figure"]:
        console.print(f"the curve is in {document['figure']}")
