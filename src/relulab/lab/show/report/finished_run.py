"""A finished run and the check of a theorem, as the report reads them from their files."""

import json
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from relulab.lab.index.terms import meanings
from relulab.lab.paper import paper_of
from relulab.lab.run.environment import differences
from relulab.lab.run.manifest import FILE as MANIFEST
from relulab.lab.run.manifest import listed
from relulab.lab.run.settings import parse
from relulab.lab.run.store import MARKER, SCHEMA, Run, is_run
from relulab.lab.show.claim_symbols import claim_texts
from relulab.lab.show.report import forms
from relulab.lab.show.report.forms import Unreadable


@dataclass(frozen=True)
class FinishedRun:
    path: Path
    about: forms.About
    status: forms.Status
    machine: forms.Machine
    claims: list[forms.Claim]
    drawn: list[forms.Figure | forms.Animation]

    @property
    def figures(self) -> list[forms.Figure]:
        return [entry for entry in self.drawn if isinstance(entry, forms.Figure)]

    @property
    def animations(self) -> list[forms.Animation]:
        return [entry for entry in self.drawn if isinstance(entry, forms.Animation)]

    @property
    def files(self) -> list[Path]:
        """Everything that the run's page is made from."""
        return files_of(self.path)

    @property
    def first(self) -> str:
        """The id that decides in which paper's section the run is shown."""
        return self.about.ids[0] if self.about.ids else self.about.study

    @property
    def lead(self) -> str:
        """What came out, in one sentence: the first claim."""
        return self.claims[0].says if self.claims else self.about.title

    @property
    def card(self) -> str:
        """The run's picture in the gallery."""
        return f"cards/{self.folder}.png"

    @property
    def folder(self) -> str:
        return f"{self.path.parent.name}-{self.path.name}"

    @property
    def page(self) -> str:
        return f"runs/{self.folder}.html"

    @property
    def counts(self) -> Counter[str]:
        return Counter(claim.verdict for claim in self.claims if not claim.check)

    @property
    def papers(self) -> list[str]:
        return list(dict.fromkeys(map(paper_of, self.about.ids)))

    @property
    def other_machines(self) -> list[str]:
        """How many units were measured in another environment than most, and in what it differs."""
        found = [(other.units, differences(dict(other), dict(self.machine))) for other in self.machine.others]
        return [f"{units} of {self.status.units} units: {', '.join(words)}" for units, words in found if words]

    @property
    def symbols(self) -> dict[str, str]:
        """The symbols and terms on the page of the run, with their meanings."""
        about = self.about
        texts = [about.title, about.about, about.remarks, *about.meanings.values()]
        texts += [entry.caption for entry in self.drawn]
        texts += [text for claim in self.claims for text in claim_texts(claim.model_dump())]
        return meanings(self.first, about.symbols, texts)

    @property
    def command(self) -> str:
        """The shell command that makes this run again, or lines of Python for a study of a script or a notebook.

        A study from a user's own file is named by its path, or by its name if that would show where the user works.
        """
        if self.about.lines:
            return "\n".join(self.about.lines)
        study = _below_here(self.about.file) if self.about.file else self.about.study
        changes = (word for key, value in self.about.changes.items() for word in ("--set", f"{key}={_word(value)}"))
        return shlex.join(["relulab", "run", study, "--preset", self.about.preset, *changes])

    @property
    def seeds(self) -> str:
        """The seeds of the run: the field ``seeds`` of a study is their number, counted from 0, or a list."""
        seeds = self.about.config.get("seeds")
        if isinstance(seeds, list):
            return ", ".join(map(str, seeds))
        if not isinstance(seeds, int):
            return "see the setup"
        return "0" if seeds == 1 else f"0 … {seeds - 1}"


def _below_here(file: str) -> str:
    path = PurePath(file)
    return path.name if path.is_absolute() or ".." in path.parts else file


def files_of(path: Path) -> list[Path]:
    """Everything that a run's page is made from: its manifest and the files in it."""
    return [path / name for name in (MANIFEST, *listed(path))]


def read_run(path: Path) -> FinishedRun:
    """Read the run in a folder; raises Unreadable if it is unfinished, damaged or of another schema version."""
    forms.name(f"{path.parent.name}-{path.name}")
    run = Run(path)
    if not is_run(path):
        raise Unreadable(f"it is a link, or it has no {MARKER}, so it is not a run of this version of relulab")
    if run.schema != SCHEMA:
        raise Unreadable(f"it has schema {run.schema!r}, but this version of relulab reads {SCHEMA}")
    damaged = run.damages
    if damaged is None:
        raise Unreadable("unfinished")
    if damaged:
        raise Unreadable(f"{damaged[0]} is missing or was changed since the run finished: run it again")
    about, status = forms.read(path / "config.json", forms.About), forms.read(path / "status.json", forms.Status)
    if status.state != "finished":
        raise Unreadable("unfinished")
    machine, claims = forms.read(path / "env.json", forms.Machine), forms.read(path / "claims.json", forms.Claims)
    return FinishedRun(path, about, status, machine, claims, forms.read(path / "figures.json", forms.Figures))


@dataclass(frozen=True)
class Checked:
    path: Path
    about: forms.Theorem

    @property
    def page(self) -> str:
        return f"theorems/{self.about.theorem}.html"

    @property
    def right(self) -> bool:
        return all(case.expected == case.verdict for case in self.about.demonstrations)

    @property
    def command(self) -> str:
        return shlex.join(["relulab", "check", self.about.theorem])


def read_check(path: Path) -> Checked:
    """Read a check; its file is named after the theorem."""
    about = forms.read(path, forms.Theorem)
    if path.stem != about.theorem:
        raise Unreadable(f"{path.name} is about {about.theorem}")
    return Checked(path, about)


def _word(value: Any) -> str:
    """A value as written after --set, or as JSON if it would otherwise be read as something else."""
    plain = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return plain if parse(plain) == value else json.dumps(value, ensure_ascii=False)
