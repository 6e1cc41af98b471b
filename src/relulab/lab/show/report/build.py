"""Builds report/: an overview of claims by paper, a page a run, a page a theorem."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from relulab.core.errors import UserError
from relulab.lab.index import papers
from relulab.lab.paper import Paper, paper_of
from relulab.lab.run.store import MOVING, atomic
from relulab.lab.show.report.exported_data import export_data
from relulab.lab.show.report.exported_figures import FORMATS, export_animations, export_figures
from relulab.lab.show.report.finished_run import Checked, FinishedRun, read_check, read_run
from relulab.lab.show.report.forms import Unreadable
from relulab.lab.show.words import VERDICTS, number, size, span, value

ORDER = ("paper", "quick", "smoke")
T = TypeVar("T")


def build(runs: Path, out: Path) -> Path:
    """Writes the report on all finished runs and all checks below ``runs``; returns its index page.

    What cannot be shown is listed there with the reason, and hides nothing else.
    """
    pages, damaged = _pages(), {}

    def run_page(path: Path) -> FinishedRun:
        run = read_run(path)
        figures = export_figures(path, run.figures, out / "figures" / run.folder)
        animations = export_animations(path, run.animations, out / "figures" / run.folder)
        data = export_data(path, run.status.units, out / "data" / run.folder)
        page = pages.get_template("run.html")
        _write(out / run.page, page.render(run=run, figures=figures, animations=animations, data=data, root="../"))
        return run

    def theorem_page(path: Path) -> Checked:
        check = read_check(path)
        _write(out / check.page, pages.get_template("theorem.html").render(check=check, root="../"))
        return check

    found = list(_readable(run_page, sorted({path.parent for path in runs.glob("*/*/*.json")}), damaged))
    checks = list(_readable(theorem_page, sorted(runs.glob("checks/*.json")), damaged))
    if not found and not checks:
        raise UserError(_nothing(runs, damaged))
    index = pages.get_template("index.html")
    overview = _by_paper(_one_a_study(found), checks)
    _write(out / "index.html", index.render(overview=overview, runs=found, damaged=damaged, root=""))
    return out / "index.html"


def _pages() -> Environment:
    pages = Environment(
        loader=PackageLoader("relulab.lab.show.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    pages.filters |= {"number": number, "size": size, "span": span, "value": value}
    more: dict[str, Any] = {"verdicts": VERDICTS, "papers": papers(), "formats": FORMATS, "moving": MOVING}
    pages.globals.update(more)
    return pages


def _readable(make: Callable[[Path], T], paths: Iterable[Path], damaged: dict[Path, str]) -> Iterator[T]:
    """What ``make`` makes of each path; where that fails, the reason goes into ``damaged``."""
    for path in paths:
        try:
            yield make(path)
        except Unreadable as reason:
            damaged[path] = str(reason)


def _nothing(runs: Path, damaged: dict[Path, str]) -> str:
    rest = "".join(f"; {path}: {reason}" for path, reason in damaged.items())
    return f"no finished run in {runs}: run one first, for instance relulab run SS.F7{rest}"


def _one_a_study(found: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The run that speaks for a study: plain presets before changed ones, the largest preset first, then the newest."""

    def rank(run: FinishedRun) -> tuple:
        preset = ORDER.index(run.about.preset) if run.about.preset in ORDER else len(ORDER)
        return (bool(run.about.changes), preset)

    newest = sorted(found, key=lambda run: run.status.updated, reverse=True)
    best: dict[str, FinishedRun] = {}
    for run in sorted(newest, key=rank):
        best.setdefault(run.about.study, run)
    return list(best.values())


def _by_paper(shown: Sequence[FinishedRun], checks: Sequence[Checked]) -> list[dict[str, Any]]:
    """A row a paper that something is known of: its claims, each with a run and an anchor, and its theorems."""
    claims: dict[str, dict[str, Any]] = {}
    for run in shown:
        for claim in run.claims:
            # Studies may share a claim's id; no id of a file has a colon in it.
            anchor = claim.id if claim.id not in claims else f"{run.about.study}:{claim.id}"
            claims[anchor] = {"claim": claim, "anchor": anchor, "run": run}
    ids = [*(row["claim"].id for row in claims.values()), *(check.about.theorem for check in checks)]
    rows = []
    for tag in dict.fromkeys([*papers(), *map(paper_of, ids)]):
        here = [row for row in claims.values() if paper_of(row["claim"].id) == tag]
        theorems = [check for check in checks if paper_of(check.about.theorem) == tag]
        if here or theorems:
            counts = Counter(row["claim"].verdict for row in here)
            paper = papers().get(tag, Paper(tag, tag, ""))
            rows.append({"paper": paper, "claims": here, "theorems": theorems, "counts": counts})
    return rows


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as part:
        part.write_text(text, encoding="utf-8")
