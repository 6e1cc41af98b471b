"""All entries of all subjects: those in ``relulab.subjects``, and those that other packages register.

A package registers a subject by an entry point in the group ``relulab.subjects``, whose value is the name of the
subject's package, for instance ``my-subject = "my_package.my_subject"``.
"""

import ast
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from relulab.core.errors import UserError, nearest
from relulab.core.spelling import american
from relulab.lab.index.declared import declared
from relulab.lab.index.entry import ROOMS, Entry, Subject
from relulab.lab.index.imported import imported
from relulab.lab.index.source_code import NotWritten, SourceCode
from relulab.lab.paper import Paper

HERE = Path(__file__).parents[2]
GROUP = "relulab.subjects"
PROBLEMS: dict[str, str] = {}
"""Modules that could not be imported when the index was made, each with the reason."""
MARKS = {"study": "STUDY", "theorem": "THEOREM", "instrument": "@instrument", "measurement": "MEASUREMENT"}


@cache
def subjects() -> dict[str, Subject]:
    """The subjects by name: the laboratory's own, then those of other packages."""
    own = [f"relulab.subjects.{path.parent.name}" for path in sorted((HERE / "subjects").glob("*/__init__.py"))]
    named = {package.rpartition(".")[2]: package for package in own}
    named |= {point.name: point.value for point in sorted(entry_points(group=GROUP)) if point.name not in named}
    found = {}
    for name, package in named.items():
        code = SourceCode(package, _roots(package))
        try:
            title = (ast.get_docstring(code.tree) or name).partition("\n")[0].rstrip(".")
        except NotWritten as error:
            raise UserError(f"the subject {name!r} is registered as {package}, which cannot be read: {error}") from None
        found[name] = Subject(name, package, code.path.parent, title)
    return found


@cache
def _roots(package: str) -> dict[str, Path]:
    """The folders of relulab and of the package that a subject is in. Only a top package is looked for: no import."""
    top = package.partition(".")[0]
    spec = find_spec(top) if top != "relulab" else None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return {"relulab": HERE} | ({top: Path(places[0])} if places else {})


@cache
def entries(*kinds: str) -> tuple[Entry, ...]:
    """Everything there is, or all of some kinds, by subject, kind and id. Only the rooms of those kinds are read."""
    rooms = {room: kind for room, kind in ROOMS.items() if not kinds or kind in kinds}
    return tuple(
        one
        for subject in subjects().values()
        for room, kind in rooms.items()
        for one in sorted(_in_room(subject, room, kind), key=_order)
    )


@cache
def _in_room(subject: Subject, room: str, kind: str, mention: str = "") -> tuple[Entry, ...]:
    """The entries of a room, or those in files that mention a word; the rest is not even parsed."""
    found: list[Entry] = []
    for path in sorted((subject.folder / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        mentions = mention in text.lower() or mention.replace("-", "_") in text.lower()
        if f"\n{MARKS[kind]}" not in text or not mentions:  # a helper of the others
            continue
        module = ".".join((subject.package, *path.relative_to(subject.folder).with_suffix("").parts))
        try:
            found += list(declared(kind, subject.name, SourceCode(module, _roots(subject.package))))
        except NotWritten:
            found += _imported(kind, subject, module)
    return tuple(found)


def _imported(kind: str, subject: Subject, module: str) -> list[Entry]:
    """The entries of a file that only an import can tell; one that fails hides nothing else."""
    try:
        return list(imported(kind, subject.name, module))
    except Exception as error:
        PROBLEMS[module] = f"{type(error).__name__}: {error}"
        return []


def _order(entry: Entry) -> tuple:
    """By paper, letter and number of its first id."""
    paper, _, item = (entry.ids[0] if entry.ids else "~").partition(".")
    digits = "".join(c for c in item.partition(".")[0] if c.isdigit())
    return paper, item[:1], int(digits or 0), item, entry.name


def entry(wanted: str, *kinds: str) -> Entry:
    """A thing by its name or an id, in any case: a study before a theorem, an instrument and a measurement."""
    called = _called(wanted.lower())
    for one in called:
        if not kinds or one.kind in kinds:
            return one
    if called:
        other = called[0]
        how = {"study": f"relulab run {wanted}", "theorem": f"relulab check {wanted}"}
        raise UserError(f"{wanted} is {_article(other.kind)}: {how.get(other.kind, how_to_run(other))}")
    for one in entries(*kinds):  # a name that stands in another file, such as that of a base class
        if wanted.lower() in (name.lower() for name in one.names):
            return one
    known = dict.fromkeys(name for one in entries(*kinds) for name in (one.name, *one.ids))
    what = " or ".join(kinds) or "study, theorem, instrument or measurement"
    broken = "".join(f"; {module} cannot be imported, {why}" for module, why in PROBLEMS.items())
    raise UserError(f"no {what} {wanted!r}: {nearest(wanted, known)}{broken}")


def _called(wanted: str) -> list[Entry]:
    """Everything of a name or id, studies first."""
    return [
        one
        for room, kind in ROOMS.items()
        for subject in subjects().values()
        for one in _in_room(subject, room, kind, wanted)
        if wanted in (name.lower() for name in one.names)
    ]


def how_to_run(entry: Entry) -> str:
    """The command that runs it, or the import of an instrument."""
    if entry.kind == "instrument":
        return f"from {subjects()[entry.subject].package} import {entry.name}"
    if entry.kind == "measurement":
        return f"relulab {'' if entry.details['verb'] else 'measure '}{entry.name}"
    return f"relulab run {entry.name}" if entry.kind == "study" else f"relulab check {entry.ids[0]}"


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def matching(rows: Iterable[Entry], word: str) -> list[Entry]:
    """The entries that have a word in an id, the name, the title, the kind or the subject, in any case and spelling."""

    def has(entry: Entry) -> bool:
        told = (*entry.names, entry.title, entry.kind, entry.subject)
        return any(word.lower() in text.lower() or american(word) in american(text) for text in told)

    found = [entry for entry in rows if has(entry)]
    if not found:
        raise UserError(f"nothing has {word!r} in an id, name, title, kind or subject: relulab list shows all there is")
    return found


@cache
def papers() -> dict[str, Paper]:
    """The papers of all subjects by their tags, from each subject's ``papers.py``, which imports nothing heavy."""
    found: dict[str, Paper] = {}
    for subject in subjects().values():
        if (subject.folder / "papers.py").is_file():
            found |= {paper.tag: paper for paper in import_module(f"{subject.package}.papers").PAPERS}
    return found
