"""How results look in a terminal."""

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from relulab.lab.papers import PAPERS, paper_of
from relulab.lab.theorem import Verdict
from relulab.lab.words import ago, number, size, span

console = Console()
errors = Console(stderr=True)
SHOWN = 30  # units of a layer in a table
COLOURS = {"HOLDS": "green", "REFUTED": "red", "INCONCLUSIVE": "yellow", "NOT_APPLICABLE": "blue"}


def verdict(name: str) -> str:
    return f"[{COLOURS[name]}]{name}[/]"


def print_run(summary: dict) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, options in (("verdict", {}), ("claim", {}), ("measured [95 %]", {"no_wrap": True}), ("criterion", {})):
        table.add_column(column, **options)
    for c in summary["claims"]:
        interval = f"{number(c['measured'])} [{number(c['low'])}, {number(c['high'])}]"
        note = f"\n[dim]{escape(c['note'])}[/]" if c["note"] else ""
        criterion = c["criterion"].partition(",")[0]
        table.add_row(verdict(c["verdict"]), escape(c["says"]) + note, escape(interval), escape(criterion))
    console.print(table)
    rate = summary["seed_steps"] / max(summary["seconds"], 1e-9)
    console.print(
        f"{summary['seed_steps']:,} seed-steps, {span(summary['seconds'])} ({rate:,.0f} a second); results in "
        f"{summary['run']}",
        style="dim",
    )


def print_check(document: dict) -> None:
    table = Table(box=None, header_style="bold", title=document["theorem"], title_justify="left", pad_edge=False)
    for column in ("demonstration", "expected", "verdict"):
        table.add_column(column)
    for d in document["demonstrations"]:
        table.add_row(escape(d["name"]), d["expected"], verdict(d["verdict"]))
        _checks(table, d, "", "")
    console.print(table)


def _checks(table: Table, document: dict, *rest: str) -> None:
    """A row for each condition and each part of the conclusion."""
    for part in ("conditions", "conclusion"):
        for c in document[part]:
            sign = {True: "✓", False: "✗", None: "?"}[c["holds"]]
            error = f" ± {number(c['error'])}" if c["error"] else ""
            line = f"  {sign} {c['says']}: {number(c['measured'])} {c['relation']} {number(c['bound'])}{error}"
            table.add_row(f"[dim]{escape(line)}[/]", *rest)


def print_finding(document: dict) -> None:
    """What a theorem says of a user's networks."""
    console.print(f"{verdict(document['verdict'])}  {Verdict[document['verdict']].value}")
    table = Table(box=None, show_header=False, pad_edge=False)
    _checks(table, document)
    console.print(table)
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


def print_runs(rows: list[dict]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("run", "state", "units", "size", "last change"):
        table.add_column(column, overflow="fold")
    for row in rows:
        state = f"{row['state']} by {row['holder']}" if row["holder"] else row["state"]
        units = f"{row['done']} of {row['units']}"
        table.add_row(escape(row["run"]), escape(state), units, size(row["bytes"]), ago(row["updated"]))
    console.print(table)


def print_overview(runs: list[dict], checks: list[dict]) -> None:
    """A row a paper: how many claims and demonstrations came out how."""
    verdicts: dict[str, Counter] = {}
    for run in runs:
        for c in run["claims"]:
            verdicts.setdefault(paper_of(c["id"]), Counter())[c["verdict"]] += 1
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("paper", "", "holds", "refuted", "inconclusive", "demonstrations as expected"):
        table.add_column(column)
    for tag, paper in PAPERS.items():
        its = [d for check in checks if paper_of(check["theorem"]) == tag for d in check["demonstrations"]]
        if tag not in verdicts and not its:
            continue
        right = sum(d["expected"] == d["verdict"] for d in its)
        counts = verdicts.get(tag, Counter())
        cells = (str(counts[name]) for name in ("HOLDS", "REFUTED", "INCONCLUSIVE"))
        table.add_row(tag, paper.title, *cells, f"{right} of {len(its)}" if its else "–")
    console.print(table)


def print_document(document: dict) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for key, value in document.items():
        rows = value.items() if isinstance(value, dict) else [("", value)]
        for i, (name, cell) in enumerate(rows):
            text = f"{name}: {cell}" if name else str(cell)
            table.add_row(key if i == 0 else "", escape(text))
    console.print(table)
