"""What the laboratory has: every study, theorem and instrument of every subject."""

from functools import cache
from importlib import import_module

from relulab.core.errors import UserError, nearest
from relulab.lab.instrument import REGISTRY, Instrument
from relulab.lab.study import Study
from relulab.lab.theorem import Theorem

SUBJECTS = ("specialization", "bias", "distillation")


def _modules(kind: str, folder: str = ""):
    for subject in SUBJECTS:
        package = f"relulab.subjects.{subject}"
        for name in getattr(import_module(package), kind):
            module = import_module(f"{package}{folder}.{name}")
            wanted = {"STUDIES": "STUDY", "THEOREMS": "THEOREM"}.get(kind)
            if wanted and not hasattr(module, wanted):
                raise TypeError(f"{module.__file__} lacks {wanted} = …, by which the catalogue finds it")
            yield module


@cache
def studies() -> dict[str, type[Study]]:
    return {m.STUDY.name: m.STUDY for m in _modules("STUDIES", ".studies")}


@cache
def theorems() -> dict[str, Theorem]:
    return {m.THEOREM.id: m.THEOREM for m in _modules("THEOREMS", ".theorems")}


@cache
def instruments() -> dict[str, Instrument]:
    list(_modules("INSTRUMENTS", ".instruments"))
    return dict(REGISTRY)


def _theorem_names() -> dict[str, Theorem]:
    return {key.lower(): t for t in theorems().values() for key in (t.id, t.name, *t.ids)}


def _study_names() -> dict[str, type[Study]]:
    return {key.lower(): s for s in studies().values() for key in (s.name, *s.ids)}


def find_study(wanted: str) -> type[Study]:
    """A study by its name or by an id that it covers."""
    if wanted.lower() in _theorem_names():
        raise UserError(f"{wanted} is a theorem: relulab check {wanted}")
    return _find(wanted, _study_names(), "study", [key for s in studies().values() for key in (s.name, *s.ids)])


def find_theorem(wanted: str) -> Theorem:
    """A theorem by its id or by its name."""
    if wanted.lower() in _study_names():
        raise UserError(f"{wanted} is a study: relulab run {wanted}")
    return _find(wanted, _theorem_names(), "theorem", [key for t in theorems().values() for key in (t.id, t.name)])


def find(wanted: str) -> type[Study] | Theorem | Instrument:
    """Anything by name or id: studies first, then theorems, then instruments."""
    names: dict = {key.lower(): i for i in instruments().values() for key in (*i.ids, i.name, i.name.replace("_", "-"))}
    names |= _theorem_names() | _study_names()
    shown = [*studies(), *(i for s in studies().values() for i in s.ids), *theorems(), *instruments()]
    return _find(wanted, names, "study, theorem or instrument", shown)


def _find(wanted: str, names: dict, kind: str, shown: list[str]):
    try:
        return names[wanted.lower()]
    except KeyError:
        raise UserError(f"no {kind} {wanted!r}: {nearest(wanted, shown)}") from None


def listing() -> list[dict]:
    """The rows that ``relulab list --json`` prints."""
    rows = [
        {"kind": "study", "name": s.name, "ids": list(s.ids), "title": s.title, "presets": [*s.presets, "paper"],
         "subject": _subject(s)}
        for s in studies().values()
    ]  # fmt: skip
    rows += [
        {"kind": "theorem", "name": t.name, "ids": [t.id, *t.ids], "title": t.title, "presets": [],
         "subject": _subject(t.check)}
        for t in theorems().values()
    ]  # fmt: skip
    rows += [
        {"kind": "instrument", "name": i.name, "ids": list(i.ids), "title": i.title, "presets": [],
         "subject": _subject(i.function)}
        for i in instruments().values()
    ]  # fmt: skip
    return rows


def _subject(thing) -> str:
    """The package that it lives in."""
    return thing.__module__.split(".")[2]


def matching(rows: list[dict], word: str) -> list[dict]:
    """The rows of a listing that have a word, in any case, in an id, the name, the title, the kind or the subject."""
    wanted = word.lower()

    def has(row: dict) -> bool:
        name = row["name"]
        told = (*row["ids"], name, name.replace("_", "-"), row["title"], row["kind"], row["subject"])
        return any(wanted in text.lower() for text in told)

    found = [row for row in rows if has(row)]
    if not found:
        raise UserError(f"nothing has {word!r} in an id, name, title, kind or subject: relulab list shows all there is")
    return found
