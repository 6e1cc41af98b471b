"""The document that ``relulab show`` prints for an entry of the index."""

import re
from typing import Any

from relulab.lab.index.contents import how_to_run, how_to_show, others
from relulab.lab.index.entry import Entry, Option, option_name
from relulab.lab.index.terms import meanings


def document(entry: Entry) -> dict[str, Any]:
    """The document of an entry, as ``relulab show --json`` prints it."""
    kinds = {"study": _study, "theorem": _theorem, "instrument": _instrument, "measurement": _measurement}
    return kinds[entry.kind](entry)


def also(wanted: str, chosen: Entry) -> dict[str, list[str]]:
    """The commands that show other entries with the same name or id, as a part of the document; empty if none has it.

    Args:
        wanted: The name or id that was asked for.
        chosen: The entry that is shown.
    """
    found = [f"the {other.kind}: {how_to_show(other)}" for other in others(wanted, chosen)]
    return {"also": found} if found else {}


def _study(entry: Entry) -> dict[str, Any]:
    details = entry.details
    document = {
        "study": entry.name, "ids": list(entry.ids), "title": entry.title, "source": entry.source,
        "about": entry.about, "remarks": details["remarks"],
        "symbols": _meanings(entry, entry.about, details["remarks"], *details["meanings"].values()),
        "fields": details["fields"],
        "meanings": details["meanings"], "presets": details["presets"], "run": f"{how_to_run(entry)} --preset quick",
    }  # fmt: skip
    return document | ({"needs": details["needs"]} if details["needs"] else {})


def _theorem(entry: Entry) -> dict[str, Any]:
    document = {
        "theorem": entry.ids[0], "title": entry.title, "source": entry.source, "statement": entry.about,
        "symbols": _meanings(entry, entry.about, entry.details["in_print"], *entry.details["demonstrations"]),
        "in print": entry.details["in_print"],
        "demonstrations": entry.details["demonstrations"], "run": how_to_run(entry),
    }  # fmt: skip
    on = usages(entry)
    return document | ({"on files": on[0] if len(on) == 1 else on} if on else {})


def _meanings(entry: Entry, *texts: str) -> dict[str, str]:
    """The symbols of an entry, and the terms in its title and in some texts."""
    own = entry.details.get("symbols", {})
    return meanings(entry.ids[0] if entry.ids else "", own, [entry.title, *texts])


def usages(entry: Entry) -> list[str]:
    """The commands that check a theorem on a user's own files, one for each kind of input.

    Args:
        entry: The theorem's entry in the index.
    """
    return [_usage(entry, one) for one in entry.details["on"]]


def _usage(entry: Entry, one: dict[str, Any]) -> str:
    """The command that checks a theorem on an input, with its settings and their defaults."""
    options = sorted(one["options"], key=lambda option: not option.required)
    shown = [option_name(o.name) if o.flag else f"{option_name(o.name)} {o.name.upper()}" for o in options]
    words = [text if option.required else f"[{text}]" for option, text in zip(options, shown, strict=True)]
    words += [f"[--set {name}={'…' if value is None else plain(value)}]" for name, value in one["settings"].items()]
    return " ".join([how_to_run(entry), *words])


def _instrument(entry: Entry) -> dict[str, Any]:
    return {
        "instrument": entry.name, "title": entry.title, "source": entry.source, "about": entry.about,
        "symbols": _meanings(entry, entry.about), "run": how_to_run(entry),
    }  # fmt: skip


def _measurement(entry: Entry) -> dict[str, Any]:
    details, options = entry.details, entry.details["options"]
    needed = [_word(option, details["arguments"]) for option in options if option.required]
    more = {"--out": details["kept"]} if details["endings"] else {}
    more |= {"--figure": details["drawn"]} if details["drawn"] else {}
    return {
        "measurement": entry.name, "title": entry.title, "source": entry.source, "about": entry.about,
        "symbols": _meanings(entry, entry.about, *(option.meaning for option in options), *more.values()),
        "options": {option.name: option.meaning for option in options} | more,
        "run": " ".join([how_to_run(entry), *needed]),
    }  # fmt: skip


def _word(option: Option, arguments: tuple[str, ...]) -> str:
    shown = option.name.upper() + "..." * option.several
    return shown if option.name in arguments else f"{option_name(option.name)} {shown}"


def readable(document: dict[str, Any]) -> dict[str, Any]:
    """The document for a terminal: values as one would type them, paragraphs without line breaks, nothing twice.

    Args:
        document: A document of an entry.
    """
    document = {key: value for key, value in document.items() if value not in ("", {}, [])}
    meanings = document.pop("meanings", {})
    if meanings:
        document["fields"] = {k: f"{plain(v)}  ({meanings[k]})" for k, v in document["fields"].items()}
        document["presets"] = {
            k: ", ".join(f"{n}={plain(v)}" for n, v in p.items()) or "the values above"
            for k, p in document["presets"].items()
        }
    if "symbols" in document:  # in its place among the others
        document = {"terms" if key == "symbols" else key: value for key, value in document.items()}
    if document.get("title") == str(document.get("about", "")).rstrip("."):
        del document["title"]
    texts = {
        key: _paragraphs(document[key]) for key in ("about", "remarks", "statement", "in print") if key in document
    }
    if "also" in document:
        texts["also"] = "\n".join(document["also"])
    return {k: ", ".join(v) if isinstance(v, list) else v for k, v in (document | texts).items()}


def _paragraphs(text: str) -> str:
    """Lines joined to paragraphs; indented blocks, such as formulas and examples, stay as they are."""
    blocks = text.split("\n\n")
    return "\n\n".join(
        block if re.search(r"^\s|>>>", block, re.MULTILINE) else block.replace("\n", " ") for block in blocks
    )


def plain(value: object) -> str:
    """A value as one would write it after --set.

    >>> plain((1, 2.5)), plain("median")
    ('1,2.5', 'median')
    """
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
