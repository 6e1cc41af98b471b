"""All entries of all subjects: lists of them, and one by its name or id."""

from collections.abc import Iterable
from functools import cache

from relulab.core.errors import UserError, nearest
from relulab.core.spelling import american
from relulab.lab.index.entry import ROOMS, Entry
from relulab.lab.index.problems import PROBLEMS
from relulab.lab.index.rooms import in_room
from relulab.lab.index.subjects import subjects
from relulab.lab.outside_code import outside


@cache
def entries(*kinds: str) -> tuple[Entry, ...]:
    """Return all entries, or those of some kinds, sorted by subject, kind and id. Only the needed files are read."""
    return tuple(
        listed
        for subject in subjects().values()
        for kind in ROOMS.values()
        if not kinds or kind in kinds
        for listed in sorted(in_room(subject, kind), key=_order)
    )


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
    broken = "".join(f"; {module} {reason}" for module, reason in PROBLEMS.items())
    raise UserError(f"no {what} {wanted!r}: {hint}{broken}")


def _named(wanted: str) -> list[Entry]:
    """Return all entries with a name or id: those of relulab first, and of these studies first."""
    own = [subject for subject in subjects().values() if not outside(subject.package)]
    others = [subject for subject in subjects().values() if outside(subject.package)]
    return [
        listed
        for group in (own, *([subject] for subject in others))
        for kind in ROOMS.values()
        for subject in group
        for listed in in_room(subject, kind, wanted)
        if wanted in (name.lower() for name in listed.names)
    ]


def others(wanted: str, chosen: Entry) -> list[Entry]:
    """Return the entries with a name or id other than the chosen one.

    Args:
        wanted: The name or id.
        chosen: The entry to leave out.
    """
    return [each for each in _named(wanted.lower()) if (each.kind, each.name) != (chosen.kind, chosen.name)]


def how_to_show(entry: Entry) -> str:
    """Return the command that shows an entry, with its kind if another entry with the same name would come first."""
    first = _named(entry.name.lower())[0]
    kind = "" if (first.kind, first.name) == (entry.kind, entry.name) else f" --kind {entry.kind}"
    return f"relulab show {entry.name}{kind}"


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
