"""How results look in a terminal."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from relulab.core.followed import shown_by
from relulab.core.printable import escaped
from relulab.lab.index import Entry, Subject, papers
from relulab.lab.paper import paper_of
from relulab.lab.show.claim_symbols import claimed_symbols
from relulab.lab.show.console import console as console
from relulab.lab.show.console import errors as errors
from relulab.lab.show.finding_parts import checks, symbol_parts
from relulab.lab.show.parts import Fact, Grid, Line, Marked, Part
from relulab.lab.show.words import NOT_JUDGED, VERDICTS, ago, claim_detail, control_detail, size, span

LOOKS = {"plain": "", "strong": "bold", "quiet": "dim"}
READING = ("name", "measured", "low", "high")  # what is shown of a claim's control
COLORS = {"HOLDS": "green", "REFUTED": "red", "INCONCLUSIVE": "yellow", "NOT_APPLICABLE": "blue", "NOT_JUDGED": "dim"}


@contextmanager
def working(words: str) -> Iterator[None]:
    """Show what is being done, and how much of it is done, on a terminal; show nothing elsewhere."""
    if not errors.is_terminal:
        yield
        return
    with (
        errors.status(words) as status,
        shown_by(lambda doing, share: status.update(f"{words} {escape(doing)}: {share:.0%}")),
    ):
        yield


def verdict(name: str) -> str:
    return f"[{COLORS[name]}]{name}[/]"


def print_run(summary: dict) -> None:
    """Each claim with its verdict, then what was measured for it, then what the run cost and where it is stored."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    reasons: dict[str, None] = {}  # why claims are not judged: each reason is printed once, after all claims
    for c in summary["claims"]:
        numbers = (c[name] for name in ("measured", "low", "high", "criterion"))
        note, _, reason = c["note"].partition(NOT_JUDGED)
        reasons |= {reason: None} if reason else {}
        control = control_detail(*(c["control"][name] for name in READING)) if c.get("control") else ""
        details = "\n".join(filter(None, (claim_detail(c.get("statistic", ""), *numbers), control, note.strip())))
        kind = "[dim]Check of the code:[/] " if c.get("check") else ""
        table.add_row(verdict(c["verdict"]), f"{kind}{escape(c['says'])}\n[dim]{escape(details)}[/]")
    console.print(table)
    for reason in reasons:
        console.print(f"[bold]{NOT_JUDGED}[/]{escape(reason)}")
    print_parts(symbol_parts(claimed_symbols(summary["claims"], summary.get("symbols", {}))))
    rate = summary["seed_steps"] / max(summary["seconds"], 1e-9)
    console.print(
        f"{summary['seed_steps']:,} seed-steps in {span(summary['seconds'])} ({rate:,.0f} per second). Results are in "
        f"{escape(summary['run'])}",
        style="dim",
    )


def print_check(document: dict[str, Any]) -> None:
    """How many demonstrations came out as expected, then each of them with what was checked."""
    demonstrations = document["demonstrations"]
    right = sum(d["verdict"] == d["expected"] for d in demonstrations)
    title = " ".join(filter(None, (document["theorem"], document.get("title"))))
    console.print(f"[bold]{escape(title)}[/]")
    color = "green" if right == len(demonstrations) else "bold red"
    console.print(f"[{color}]{right} of {len(demonstrations)} demonstrations came out as expected[/]")
    print_parts(filter(None, [document.get("statement"), *symbol_parts(document.get("symbols", {}))]))
    for d in demonstrations:
        expected = "as expected" if d["verdict"] == d["expected"] else f"[bold red]but expected: {d['expected']}[/]"
        console.print(f"\n{verdict(d['verdict'])} ({expected}): [bold]{escape(d['name'])}[/]")
        print_parts(checks(d))


def print_parts(parts: Iterable[Part]) -> None:
    """The sentences and tables of an answer."""
    for kind, group in groupby(parts, key=type):
        if kind in (Marked, Fact):
            rows = list(group)
            console.print(_marked(rows) if kind is Marked else _facts(rows))  # type: ignore[arg-type]
            continue
        for part in group:
            if isinstance(part, Grid):
                console.print(_grid(part))
            else:
                line = part if isinstance(part, Line) else Line(str(part))
                console.print(_colored(line.text), style=LOOKS[line.look])


def _colored(text: str) -> Text:
    """The text, a verdict at its beginning in that verdict's color."""
    word = text.partition(" ")[0]
    return Text.assemble((word, COLORS[word]), text[len(word) :]) if word in COLORS else Text(text)


def _marked(rows: Sequence[Marked]) -> Table:
    """A line for each, with what goes over it set in."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=3, no_wrap=True, justify="right", style="dim")
    table.add_column(style="dim")
    for row in rows:
        table.add_row(row.mark, escape(row.text))
    return table


def _facts(rows: Sequence[Fact]) -> Table:
    """Labels in one column, answers in another."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", max_width=34)
    table.add_column()
    for row in rows:
        table.add_row(escape(row.label), escape(row.text))
    return table


def _grid(grid: Grid) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in grid.columns:
        left = column in grid.left
        table.add_column(escape(column), justify="left" if left else "right", overflow="fold" if left else "ellipsis")
    for row in grid.rows:
        table.add_row(*map(escape, row))
    return table


KINDS = {"study": "Studies", "theorem": "Theorems", "instrument": "Instruments", "measurement": "Measurements"}


def print_entries(subject: Subject, things: Sequence[Entry]) -> None:
    """A subject's things, by kind: ids, name and title."""
    console.print(f"[bold]{escape(subject.name)}[/]: {escape(subject.title)}")
    for kind, group in groupby(things, key=lambda entry: entry.kind):
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(f"  {KINDS[kind]}", no_wrap=True)
        table.add_column("")
        table.add_column("", overflow="fold", max_width=16)
        for entry in group:
            table.add_row(f"  {entry.name}", escape(entry.title), " ".join(entry.ids))
        console.print(table)
    console.print()


def print_json(document: object) -> None:
    """One document on standard output and nothing else."""
    print(escaped(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)))


def print_runs(rows: list[dict]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("run", "state", "units", "size", "last change"):
        table.add_column(column, overflow="fold")
    for row in rows:
        state = f"{row['state']} by {row['holder']}" if row["holder"] else row["state"]
        units = f"{row['done']} of {row['units']}"  # whole numbers, by Run.status
        table.add_row(escape(row["run"]), escape(state), units, size(row["bytes"]), ago(row["updated"]))
    console.print(table)


def print_overview(runs: list[dict], checked: list[dict]) -> None:
    """A row a paper: how many claims and demonstrations came out how. Checks of the code do not count."""
    verdicts: dict[str, Counter] = {}
    for run in runs:
        for c in run["claims"]:
            counts = verdicts.setdefault(paper_of(c["id"]), Counter())
            counts["check" if c.get("check") else c["verdict"]] += 1
    table = Table(box=None, header_style="bold", pad_edge=False)
    shown = ["HOLDS", "REFUTED", "INCONCLUSIVE"]
    shown += ["NOT_JUDGED"] * any(counts["NOT_JUDGED"] for counts in verdicts.values())
    for column in ("paper", "", *(VERDICTS[name] for name in shown), "demonstrations as expected"):
        table.add_column(column)
    for tag, paper in papers().items():
        demonstrations = [d for check in checked if paper_of(check["theorem"]) == tag for d in check["demonstrations"]]
        if tag not in verdicts and not demonstrations:
            continue
        right = sum(d["expected"] == d["verdict"] for d in demonstrations)
        counts = verdicts.get(tag, Counter())
        cells = (str(counts[name]) for name in shown)
        table.add_row(tag, paper.title, *cells, f"{right} of {len(demonstrations)}" if demonstrations else "–")
    console.print(table)


def print_document(document: dict, after: dict | None = None) -> None:
    """Print a document as a table; ``after`` is one printed before it, with whose columns it is aligned."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", min_width=max(map(len, after or {}), default=0))
    table.add_column()
    for key, value in document.items():
        rows = value.items() if isinstance(value, dict) else [("", value)]
        for i, (name, cell) in enumerate(rows):
            text = f"{name}: {cell}" if name else str(cell)
            table.add_row(key if i == 0 else "", escape(text))
    console.print(table)
