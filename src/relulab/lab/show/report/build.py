"""Builds report/: a gallery of studies by paper, one page per run and per theorem, tables of all claims and runs."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from relulab.core.errors import UserError
from relulab.core.files import atomic
from relulab.lab.index import papers
from relulab.lab.run.store import MOVING
from relulab.lab.show.formula import mathml
from relulab.lab.show.report.exported_figures import FORMATS, export_animations, export_figures
from relulab.lab.show.report.finished_run import FinishedRun, files_of, read_check, read_run
from relulab.lab.show.report.forms import Unreadable
from relulab.lab.show.report.overview import Section, one_per_study, sections
from relulab.lab.show.report.stamps import Stamps, stamp
from relulab.lab.show.report.thumbnail import thumbnail
from relulab.lab.show.typeset import is_word, typeset
from relulab.lab.show.words import VERDICTS, check_detail, claim_detail, number, size, span, value

T = TypeVar("T")
TABLES = ("claims.html", "theorems.html", "runs.html")


def build(runs: Path, out: Path) -> Path:
    """Write the report on all finished runs and all checks; return its first page.

    Pages whose runs have not changed since the last report are left as they are. Runs that cannot be shown are listed
    with the reason.

    Args:
        runs: The folder that holds all runs.
        out: The folder of the report.
    """
    damaged: dict[Path, str] = {}
    folders, checked = sorted({path.parent for path in runs.glob("*/*/*.json")}), sorted(runs.glob("checks/*.json"))
    report, everything = _Report(out), stamp([*(f for path in folders for f in files_of(path)), *checked], folders)
    if report.stamps.complete(everything):
        return out / "index.html"
    finished = list(_readable(read_run, folders, damaged))
    checks = list(_readable(read_check, checked, damaged))
    finished = list(_readable(report.run_files, finished, damaged))
    if not finished and not checks:
        raise UserError(_nothing(runs, damaged))
    overview = sections(one_per_study(finished), checks)
    report.pages(overview, finished)
    report.tables(overview, finished, damaged)
    report.stamps.write(everything)
    return out / "index.html"


class _Report:
    """A report that is being written into a folder."""

    def __init__(self, out: Path):
        self.out, self.stamps, self.environment = out, Stamps(out), _environment()
        self.parts: dict[str, dict[str, Any]] = {}

    def run_files(self, run: FinishedRun) -> FinishedRun:
        """Copies figures and data of a run, unless its page is up to date; raises Unreadable if they are damaged."""
        run_stamp = stamp(run.files)
        figures, data = (self.out / kind / run.folder for kind in ("figures", "data"))
        if not self.stamps.current(f"files of {run.page}", run_stamp):
            from relulab.lab.show.report.exported_data import export_data

            self.parts[run.folder] = {
                "figures": export_figures(run.path, run.figures, figures),
                "animations": export_animations(run.path, run.animations, figures),
                "data": export_data(run.path, run.status.units, data),
            }
            if run.figures:
                thumbnail(figures / f"{run.figures[0].figure}.png", figures / "card.png")
        return run

    def pages(self, overview: list[Section], runs: list[FinishedRun]) -> None:
        """The pages of runs and theorems, each with links to its neighbors in the order of print."""
        shown = [run for section in overview for run in section.runs]
        for run, before, after in _neighbors(shown + [run for run in runs if run not in shown]):
            self._run_page(run, before, after)
        for check, before, after in _neighbors([check for section in overview for check in section.theorems]):
            made_from = stamp([], check.about.model_dump_json(), before and before.page, after and after.page)
            if not self.stamps.current(check.page, made_from):
                self.write(check.page, "theorem.html", check=check, before=before, after=after)
                self.stamps.made(check.page, made_from, [])

    def _run_page(self, run: FinishedRun, before: FinishedRun | None, after: FinishedRun | None) -> None:
        made_from = stamp(run.files, before and before.page, after and after.page)
        if run.folder not in self.parts and self.stamps.current(run.page, made_from):
            return
        if run.folder not in self.parts:
            self.stamps.old.pop(f"files of {run.page}", None)
            self.run_files(run)
        self.write(run.page, "run.html", run=run, before=before, after=after, **self.parts[run.folder])
        self.stamps.made(run.page, made_from, [self.out / kind / run.folder for kind in ("figures", "data")])
        self.stamps.new[f"files of {run.page}"] = self.stamps.new[run.page] | {"stamp": stamp(run.files)}

    def tables(self, overview: list[Section], runs: list[FinishedRun], damaged: dict[Path, str]) -> None:
        """The gallery, the tables of all claims, theorems and runs, and the index of the search."""
        pages = [(section, run) for section in overview for run in section.runs]
        entries = [[run.about.title, run.page, " ".join(run.about.ids), run.lead] for _, run in pages]
        for section in overview:
            entries += [[row.claim.says, f"claims.html#{row.anchor}", row.claim.id, ""] for row in section.rows]
            entries += [[t.about.title, t.page, t.about.theorem, t.about.statement] for t in section.theorems]
        text = json.dumps(entries, ensure_ascii=False).replace("</", "<\\/")
        _write(self.out / "search-index.js", f"const ENTRIES = {text};\n")
        for page in ("index.html", *TABLES):
            self.write(page, page, overview=overview, runs=runs, damaged=damaged)

    def write(self, page: str, template: str, **values: Any) -> None:
        root = "../" * page.count("/")
        _write(self.out / page, self.environment.get_template(template).render(root=root, page=page, **values))


def _neighbors(items: list[T]) -> Iterator[tuple[T, T | None, T | None]]:
    around = [None, *items, None]
    yield from zip(items, around, around[2:], strict=False)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("relulab.lab.show.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {
        "number": number, "size": size, "span": span, "value": value, "math": _math, "symbol": _symbol,
        "script_hash": _script_hash,
    }  # fmt: skip
    more: dict[str, Any] = {
        "verdicts": VERDICTS, "papers": papers(), "formats": FORMATS, "moving": MOVING,
        "check_detail": check_detail, "claim_detail": claim_detail,
    }  # fmt: skip
    environment.globals.update(more)
    return environment


def _math(text: str) -> Markup:
    return Markup(typeset(text))


def _symbol(text: str) -> Markup:
    return _math(text) if is_word(text) else Markup(mathml(text))


def _script_hash(code: str) -> str:
    """The hash by which a page's content-security policy allows its own script, and no other."""
    return b64encode(hashlib.sha256(code.encode()).digest()).decode()


def _readable(make: Callable[[Any], T], things: Iterable[Any], damaged: dict[Path, str]) -> Iterator[T]:
    """The result of ``make`` for each thing; where it fails, the reason goes into ``damaged``."""
    for thing in things:
        try:
            yield make(thing)
        except Unreadable as reason:
            damaged[thing if isinstance(thing, Path) else thing.path] = str(reason)


def _nothing(runs: Path, damaged: dict[Path, str]) -> str:
    rest = "".join(f"; {path}: {reason}" for path, reason in damaged.items())
    return f"no finished run in {runs}: run a study first, for example with relulab run SS.F7{rest}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as part:
        part.write_text(text, encoding="utf-8")
