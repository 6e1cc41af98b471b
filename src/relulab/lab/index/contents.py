"""All entries of all subjects, in ``relulab.subjects`` and in packages that register their own.

A package registers a subject by an entry point in the group ``relulab.subjects``, whose value is the name of the
subject's package, for example ``my-subject = "my_package.my_subject"``.
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
"""Modules that could not be imported, each with the reason."""
MARKS = {"study": "STUDY", "theorem": "THEOREM", "instrument": "@instrument", "measurement": "MEASUREMENT"}


@cache
def subjects() -> dict[str, Subject]:
    """Return the subjects by name: those of relulab first, then those of other packages."""
    built_in = [f"relulab.subjects.{path.parent.name}" for path in sorted((HERE / "subjects").glob("*/__init__.py"))]
    packages = {package.rpartition(".")[2]: package for package in built_in}
    packages |= {point.name: point.value for point in sorted(entry_points(group=GROUP)) if point.name not in packages}
    by_name = {}
    for name, package in packages.items():
        code = SourceCode(package, _roots(package))
        try:
            title = (ast.get_docstring(code.tree) or name).partition("\n")[0].rstrip(".")
        except NotWritten as error:
            raise UserError(f"the package {package} of the subject {name!r} cannot be read: {error}") from None
        by_name[name] = Subject(name, package, code.path.parent, title)
    return by_name


@cache
def _roots(package: str) -> dict[str, Path]:
    """Return the folders of relulab and of the top-level package of a subject, without importing anything."""
    top = package.partition(".")[0]
    spec = find_spec(top) if top != "relulab" else None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return {"relulab": HERE} | ({top: Path(folders[0])} if folders else {})


@cache
def entries(*kinds: str) -> tuple[Entry, ...]:
    """Return all entries, or those of some kinds, sorted by subject, kind and id. Only the needed files are read."""
    rooms = {room: kind for room, kind in ROOMS.items() if not kinds or kind in kinds}
    return tuple(
        listed
        for subject in subjects().values()
        for room, kind in rooms.items()
        for listed in sorted(_in_room(subject, room, kind), key=_order)
    )


@cache
def _in_room(subject: Subject, room: str, kind: str, mention: str = "") -> tuple[Entry, ...]:
    """Return the entries in a folder of a subject. Only files that contain ``mention`` are parsed."""
    listed: list[Entry] = []
    for path in sorted((subject.folder / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        mentions = mention in text.lower() or mention.replace("-", "_") in text.lower()
        if f"\n{MARKS[kind]}" not in text or not mentions:  # a helper module, or not mentioned
            continue
        module = ".".join((subject.package, *path.relative_to(subject.folder).with_suffix("").parts))
        try:
            listed += list(declared(kind, subject.name, SourceCode(module, _roots(subject.package))))
        except NotWritten:
            listed += _imported(kind, subject, module)
    return tuple(listed)


def _imported(kind: str, subject: Subject, module: str) -> list[Entry]:
    """Return the entries of a file by importing it. An import error is recorded in ``PROBLEMS``."""
    try:
        return list(imported(kind, subject.name, module))
    except Exception as error:
        PROBLEMS[module] = f"{type(error).__name__}: {error}"
        return []


def _order(entry: Entry) -> tuple:
    """Return the sort key of an entry: paper, letter and number of its first id."""
    paper, _, item = (entry.ids[0] if entry.ids else "~").partition(".")
    digits = "".join(c for c in item.partition(".")[0] if c.isdigit())
    return paper, item[:1], int(digits or 0), item, entry.name


def entry(wanted: str, *kinds: str) -> Entry:
    """Return an entry by its name or an id, ignoring case.

    If several entries have the name, a study comes first, then a theorem, an instrument and a measurement.

    Args:
        wanted: The name or id.
        kinds: The kinds to choose from; by default all.
    """
    named = _named(wanted.lower())
    for candidate in named:
        if not kinds or candidate.kind in kinds:
            return candidate
    if named:
        other = named[0]
        commands = {"study": f"relulab run {wanted}", "theorem": f"relulab check {wanted}"}
        use = commands.get(other.kind, how_to_run(other))
        raise UserError(f"expected {_article(kinds[0])}, but {wanted} is {_article(other.kind)}: use {use}")
    for candidate in entries(*kinds):  # a name that is defined in another file, such as that of a base class
        if wanted.lower() in (name.lower() for name in candidate.names):
            return candidate
    known = dict.fromkeys(name for listed in entries(*kinds) for name in (listed.name, *listed.ids))
    what = " or ".join(kinds) or "study, theorem, instrument or measurement"
    hint = nearest(wanted, known)
    if not hint.startswith("did you mean"):  # there are too many names for one line
        hint = f"relulab list{f' {kinds[0]}' if len(kinds) == 1 else ''} shows all names and ids"
    broken = "".join(f"; {module} cannot be imported ({reason})" for module, reason in PROBLEMS.items())
    raise UserError(f"no {what} {wanted!r}: {hint}{broken}")


def _named(wanted: str) -> list[Entry]:
    """Return all entries with a name or id, studies first."""
    return [
        listed
        for room, kind in ROOMS.items()
        for subject in subjects().values()
        for listed in _in_room(subject, room, kind, wanted)
        if wanted in (name.lower() for name in listed.names)
    ]


def how_to_run(entry: Entry) -> str:
    """Return the command that runs an entry, or the import statement of an instrument."""
    if entry.kind == "instrument":
        return f"from {subjects()[entry.subject].package} import {entry.name}"
    if entry.kind == "measurement":
        return f"relulab {'' if entry.details['verb'] else 'measure '}{entry.name}"
    return f"relulab run {entry.name}" if entry.kind == "study" else f"relulab check {entry.ids[0]}"


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def matching(rows: Iterable[Entry], word: str) -> list[Entry]:
    """Return the entries with a word in an id, the name, title, kind or subject, ignoring case and British spelling."""

    def has(entry: Entry) -> bool:
        texts = (*entry.names, entry.title, entry.kind, entry.subject)
        return any(word.lower() in text.lower() or american(word) in american(text) for text in texts)

    found = [entry for entry in rows if has(entry)]
    if not found:
        raise UserError(f"no id, name, title, kind or subject contains {word!r}: relulab list shows everything")
    return found


@cache
def papers() -> dict[str, Paper]:
    """Return the papers of all subjects by tag, from the ``papers.py`` of each subject, which is fast to import."""
    by_tag: dict[str, Paper] = {}
    for subject in subjects().values():
        if (subject.folder / "papers.py").is_file():
            by_tag |= {paper.tag: paper for paper in import_module(f"{subject.package}.papers").PAPERS}
    return by_tag
