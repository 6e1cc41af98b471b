"""The entries in a folder of a subject. Files that cannot be used are recorded in ``PROBLEMS``."""

import re
from functools import cache
from pathlib import Path

from relulab.core.errors import UserError
from relulab.lab.index.declared import declared
from relulab.lab.index.entry import ROOMS, Entry, Subject
from relulab.lab.index.imported import imported
from relulab.lab.index.problems import NotWritten, TooLarge, leave_out
from relulab.lab.index.source_code import SourceCode
from relulab.lab.index.subjects import roots, subjects
from relulab.lab.index.usable import usable
from relulab.lab.outside_code import outside

NAMED = r"^{0}\s*[:=]|\bas {0}\b|^from .*\bimport\b.*\b{0}\b(?! as)"
MARKS = {kind: re.compile(pattern, re.MULTILINE) for kind, pattern in {
    "study": NAMED.format("STUDY"), "theorem": NAMED.format("THEOREM"), "measurement": NAMED.format("MEASUREMENT"),
    "instrument": r"^@([\w.]+\.)?instrument\b|^from .*\binstrument as\b",
}.items()}  # fmt: skip


@cache
def in_room(subject: Subject, kind: str, mention: str = "") -> tuple[Entry, ...]:
    """Return the entries of a kind of a subject. Only files that contain ``mention`` are parsed.

    Of two entries with the same name or id, only the first one is kept.
    """
    found = _all_in_room(subject, kind, mention)
    return tuple(entry for entry in found if not _is_taken(entry)) if outside(subject.package) else found


@cache
def _all_in_room(subject: Subject, kind: str, mention: str) -> tuple[Entry, ...]:
    room = next(room for room, of_kind in ROOMS.items() if of_kind == kind)
    listed: list[Entry] = []
    for path in sorted((subject.folder / room).rglob("*.py")):
        module = ".".join((subject.package, *path.relative_to(subject.folder).with_suffix("").parts))
        text = _text(path, module)
        mentions = mention in text.lower() or mention.replace("-", "_") in text.lower()
        if mentions and MARKS[kind].search(text):  # else a helper module, or not mentioned
            listed += _in_file(kind, subject, module)
    return tuple(listed)


@cache
def _text(path: Path, module: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        leave_out(module, f"cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        leave_out(module, f"cannot be read: {path} is not UTF-8 text, save it as UTF-8")
    return ""


@cache
def _in_file(kind: str, subject: Subject, module: str) -> tuple[Entry, ...]:
    """Return the entries of a file, from its source or, if that does not determine them, by importing it."""
    try:
        try:
            found = list(declared(kind, subject.name, SourceCode(module, roots(subject.package))))
        except TooLarge:
            raise
        except NotWritten:
            found = list(imported(kind, subject.name, module))
        return tuple(map(usable, found))
    except (TooLarge, UserError) as reason:
        leave_out(module, f"is left out: {reason}")
    except (Exception, SystemExit) as error:
        leave_out(module, error)
    return ()


def _is_taken(entry: Entry) -> bool:
    """Whether an earlier entry of the same kind has one of the names; then it is recorded that this one is left out."""
    for name in _claimed(entry):
        for subject in subjects().values():
            for other in _all_in_room(subject, entry.kind, name):
                if (other.module, other.name) == (entry.module, entry.name):
                    break
                if name in _claimed(other):
                    leave_out(entry.module, f"is left out: {other.module} has the name or id {name!r} already, choose "
                              "another one")  # fmt: skip
                    return True
            if subject.name == entry.subject:  # subjects after it come later
                break
    return False


def _claimed(entry: Entry) -> list[str]:
    """Return what only one entry of a kind can have. Instruments and measurements may share the ids of a paper."""
    ids = entry.ids if entry.kind in ("study", "theorem") else ()
    return list(dict.fromkeys(name.lower().replace("_", "-") for name in (entry.name, *ids)))
