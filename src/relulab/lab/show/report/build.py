"""Builds report/: a gallery of studies by paper, one page per run and per theorem, tables of all claims and runs."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from relulab.core.errors import UserError
from relulab.core.files import real_folder, remove_leftovers
from relulab.lab.index import papers
from relulab.lab.run.documents import write_bytes
from relulab.lab.run.store import MOVING
from relulab.lab.show.formula import mathml
from relulab.lab.show.report.damaged import Damaged
from relulab.lab.show.report.exported_figures import FORMATS, export_animations, export_figures
from relulab.lab.show.report.finished_run import Checked, FinishedRun, files_of, read_check, read_run
from relulab.lab.show.report.forms import Unreadable
from relulab.lab.show.report.overview import Section, one_per_study, sections
from relulab.lab.show.report.report_folder import place, take
from relulab.lab.show.report.stamps import Stamps, stamp
from relulab.lab.show.report.thumbnail import thumbnail
from relulab.lab.show.typeset import is_word, typeset
from relulab.lab.show.words import VERDICTS, check_detail, claim_detail, control_detail, number, size, span, value

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
    folders, checked = sorted({path.parent for path in runs.glob("*/*/*.json")}), sorted(runs.glob("checks/[!.]*.json"))
    everything = stamp([*(f for path in folders for f in files_of(path)), *checked], folders)
    if Stamps(out).complete(everything):
        return out / "index.html"
    damaged = Damaged(runs)
    finished, checks = damaged.without(read_run, folders), damaged.without(read_check, checked)
    finished = damaged.without(_with_own_page(), finished)
    _check_any([*finished, *checks], damaged)
    take(out)
    if real_folder(runs / "checks"):
        remove_leftovers(runs / "checks")
    report = _Report(out)
    finished = damaged.without(report.run_files, finished)
    while True:
        _check_any([*finished, *checks], damaged)
        known, overview = len(damaged.reasons), sections(one_per_study(finished), checks)
        shown = [run for section in overview for run in section.runs]
        shown += [run for run in finished if run not in shown]
        theorems = [check for section in overview for check in section.theorems]
        finished = damaged.without(report.run_page, _neighbors(shown))
        checks = damaged.without(report.theorem_page, _neighbors(theorems))
        if len(damaged.reasons) == known:  # otherwise what has no page is left out on all others
            break
    report.tables(overview, finished, damaged.reasons)
    report.stamps.write(everything)
    return out / "index.html"


def _check_any(shown: list[Any], damaged: Damaged) -> None:
    if not shown:
        raise UserError(
            f"no finished run in {damaged.runs}: run a study first, for example with relulab run SS.F7{damaged}"
        )


def _with_own_page() -> Callable[[FinishedRun], FinishedRun]:
    """A function that raises Unreadable for a run whose page would have the name of an earlier one."""
    pages: dict[str, Path] = {}

    def distinct(run: FinishedRun) -> FinishedRun:
        if pages.setdefault(run.page, run.path) != run.path:
            raise Unreadable(f"its page would have the same name as that of {pages[run.page].parent.name}: rename it")
        return run

    return distinct


class _Report:
    """A report that is being written into a folder."""

    def __init__(self, out: Path):
        self.out, self.stamps, self.environment = out, Stamps(out), _environment()
        self.parts: dict[str, dict[str, Any]] = {}

    def run_files(self, run: FinishedRun) -> FinishedRun:
        """Copies figures and data of a run, unless its page is up to date; raises Unreadable if they are damaged."""
        run_stamp = stamp(run.files)
        figures, data = (place(self.out, f"{kind}/{run.folder}/x").parent for kind in ("figures", "data"))
        if not self.stamps.current(f"files of {run.page}", run_stamp):
            from relulab.lab.show.report.exported_data import export_data

            self.parts[run.folder] = {
                "figures": export_figures(run.path, run.figures, figures),
                "animations": export_animations(run.path, run.animations, figures),
                "data": export_data(run.path, run.status.units, data),
            }
            if run.figures:
                thumbnail(figures / f"{run.figures[0].figure}.png", place(self.out, run.card))
        return run

    def theorem_page(self, neighbors: tuple[Checked, Checked | None, Checked | None]) -> Checked:
        """The page of a theorem, with links to its neighbors in the order of print."""
        check, before, after = neighbors
        made_from = stamp([], check.about.model_dump_json(), before and before.page, after and after.page)
        if not self.stamps.current(check.page, made_from):
            self.write(check.page, "theorem.html", check=check, before=before, after=after)
            self.stamps.made(check.page, made_from, [])
        return check

    def run_page(self, neighbors: tuple[FinishedRun, FinishedRun | None, FinishedRun | None]) -> FinishedRun:
        """The page of a run, with links to its neighbors in the order of print."""
        run, before, after = neighbors
        made_from = stamp(run.files, before and before.page, after and after.page)
        if run.folder not in self.parts and self.stamps.current(run.page, made_from):
            return run
        if run.folder not in self.parts:
            self.stamps.old.pop(f"files of {run.page}", None)
            self.run_files(run)
        self.write(run.page, "run.html", run=run, before=before, after=after, **self.parts[run.folder])
        cards = [run.card] if run.figures else []
        self.stamps.made(run.page, made_from, [self.out / kind / run.folder for kind in ("figures", "data")], *cards)
        self.stamps.new[f"files of {run.page}"] = self.stamps.new[run.page] | {"stamp": stamp(run.files)}
        return run

    def tables(self, overview: list[Section], runs: list[FinishedRun], damaged: dict[str, str]) -> None:
        """The gallery, the tables of all claims, theorems and runs, and the index of the search."""
        pages = [(section, run) for section in overview for run in section.runs]
        entries = [[run.about.title, run.page, " ".join(run.about.ids), run.lead] for _, run in pages]
        for section in overview:
            entries += [[row.claim.says, f"claims.html#{row.anchor}", row.claim.id, ""] for row in section.rows]
            entries += [[t.about.title, t.page, t.about.theorem, t.about.statement] for t in section.theorems]
        text = json.dumps(entries, ensure_ascii=False).replace("</", "<\\/")
        self._write("search-index.js", f"const ENTRIES = {text};\n")
        for page in ("index.html", *TABLES):
            self.write(page, page, overview=overview, runs=runs, damaged=damaged)

    def write(self, page: str, template: str, **values: Any) -> None:
        root = "../" * page.count("/")
        self._write(page, self.environment.get_template(template).render(root=root, page=page, **values))

    def _write(self, name: str, text: str) -> None:
        write_bytes(place(self.out, name), text.encode("utf-8", "backslashreplace"))


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
        "check_detail": check_detail, "claim_detail": claim_detail, "control_detail": control_detail,
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
