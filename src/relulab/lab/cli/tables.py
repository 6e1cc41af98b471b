"""How results look in a terminal."""

from collections import Counter
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from relulab.lab.papers import PAPERS, paper_of
from relulab.lab.show.words import ago, number, size, span

console = Console()
errors = Console(stderr=True)
COLOURS = {"HOLDS": "green", "REFUTED": "red", "INCONCLUSIVE": "yellow", "NOT_APPLICABLE": "blue"}


def working(words: str) -> AbstractContextManager:
    """A sign of life on a terminal while something without a bar of its own is under way; nothing elsewhere."""
    return errors.status(words) if errors.is_terminal else nullcontext()


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
    """Each demonstration: its verdict, then what was checked, over the whole width of the terminal."""
    console.print(document["theorem"], style="italic", highlight=False)
    for d in document["demonstrations"]:
        as_it_should = d["verdict"] == d["expected"]
        outcome = "as expected" if as_it_should else f"[bold red]but {d['expected']} was expected[/]"
        console.print(f"{verdict(d['verdict'])}, {outcome}: [bold]{escape(d['name'])}[/]", highlight=False)
        console.print(checks(d))


def checks(document: dict) -> Table:
    """A line for each condition and each part of the conclusion, what goes over it set in."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=3, no_wrap=True, justify="right", style="dim")
    table.add_column(style="dim")
    for part in ("conditions", "conclusion"):
        for c in document[part]:
            sign = {True: "✓", False: "✗", None: "?"}[c["holds"]]
            error = f" ± {number(c['error'])}" if c["error"] else ""
            line = f"{c['says']}: {number(c['measured'])} {c['relation']} {number(c['bound'])}{error}"
            table.add_row(sign, escape(line))
    return table


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
