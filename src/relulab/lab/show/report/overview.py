"""What the report shows of all runs and checks together: by paper, in the order of print."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relulab.lab.index import entries, papers
from relulab.lab.paper import Paper, paper_of
from relulab.lab.show.claim_symbols import claimed_symbols
from relulab.lab.show.report.finished_run import Checked, FinishedRun
from relulab.lab.show.report.forms import Claim
from relulab.lab.show.words import VERDICTS

ORDER = ("paper", "quick", "smoke")


@dataclass(frozen=True)
class Row:
    """A claim with the run that it is from, and its anchor on the page of all claims."""

    claim: Claim
    anchor: str
    run: FinishedRun

    @property
    def reason(self) -> str:
        """The first sentence of the claim's note."""
        return self.claim.note.partition(". ")[0].rstrip(".")

    @property
    def symbols(self) -> dict[str, str]:
        """The symbols in the claim, with their meanings."""
        return claimed_symbols([self.claim.model_dump()], self.run.about.symbols)


@dataclass(frozen=True)
class Section:
    """A paper with its studies, claims and theorems in the order of print."""

    paper: Paper
    runs: list[FinishedRun]
    rows: list[Row]
    theorems: list[Checked]
    known: int
    """number of theorems of the paper that can be checked"""

    @property
    def counts(self) -> Counter[str]:
        return Counter(row.claim.verdict for row in self.rows if not row.claim.check)

    @property
    def score(self) -> str:
        """How many claims and theorems came out how, in a few words."""
        total, parts = self.counts.total() - self.counts["NOT_JUDGED"], []
        if total:
            parts.append(f"{self.counts['HOLDS']} of {total} claim{'s' * (total > 1)} hold{'s' * (total == 1)}")
        others = ("REFUTED", "INCONCLUSIVE", "NOT_JUDGED")
        parts += [f"{self.counts[name]} {VERDICTS[name]}" for name in others if self.counts[name]]
        if self.theorems:
            known = max(self.known, len(self.theorems))
            parts.append(f"{self.right} of {known} theorem{'s' * (known > 1)} checked")
        return ", ".join(parts)

    @property
    def right(self) -> int:
        """Number of theorems whose demonstrations all came out as expected."""
        return sum(theorem.right for theorem in self.theorems)


def sections(runs: Sequence[FinishedRun], checks: Sequence[Checked]) -> list[Section]:
    """One section for each paper with a run or a check.

    Args:
        runs: One run per study.
        checks: All checks.
    """
    rows = _rows(runs)
    ids = [*(row.claim.id for row in rows), *(run.first for run in runs), *(check.about.theorem for check in checks)]
    shown = []
    for tag in dict.fromkeys([*papers(), *map(paper_of, ids)]):
        paper = papers().get(tag, Paper(tag, tag, ""))
        section = Section(
            paper,
            sorted((run for run in runs if paper_of(run.first) == tag), key=lambda run: paper.place(run.first)),
            sorted((row for row in rows if paper_of(row.claim.id) == tag), key=lambda row: _place(paper, row)),
            sorted(
                (check for check in checks if paper_of(check.about.theorem) == tag),
                key=lambda check: paper.place(check.about.theorem),
            ),
            sum(paper_of(entry.ids[0]) == tag for entry in entries("theorem")),
        )
        if section.runs or section.rows or section.theorems:
            shown.append(section)
    return shown


def _place(paper: Paper, row: Row) -> Any:
    """Claims of an item stay in the order of their study."""
    return paper.place(row.claim.id)[0], row.run.about.study, row.run.claims.index(row.claim)


def _rows(runs: Sequence[FinishedRun]) -> list[Row]:
    rows: dict[str, Row] = {}
    for run in runs:
        for claim in run.claims:
            # Studies may share a claim's id; no id in a file has a colon in it.
            anchor = claim.id if claim.id not in rows else f"{run.about.study}:{claim.id}"
            rows[anchor] = Row(claim, anchor, run)
    return list(rows.values())


def one_per_study(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The run shown for each study: unchanged presets first, then the largest preset, then the newest run.

    Args:
        runs: All finished runs.
    """

    def rank(run: FinishedRun) -> tuple:
        preset = ORDER.index(run.about.preset) if run.about.preset in ORDER else len(ORDER)
        return (bool(run.about.changes), preset)

    newest = sorted(runs, key=lambda run: run.status.updated, reverse=True)
    best: dict[str, FinishedRun] = {}
    for run in sorted(newest, key=rank):
        best.setdefault(run.about.study, run)
    return list(best.values())
