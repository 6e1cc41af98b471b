"""What names, ids, titles and presets must look like: names become file names and commands, ids become addresses."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from relulab.core.errors import UserError

# The same patterns as in the report (lab/show/report/forms.py), so that what is accepted here can be shown there.
NAME = re.compile(r"[^\W_][\w.×+-]*")
ID = re.compile(r"[^\W_]\w*\.[\w.×+-]+")
LONGEST = 100  # characters of a name or id


def is_name(value: Any) -> bool:
    """Whether a value is text that can be a file name.

    >>> is_name("half-active"), is_name("../up"), is_name(5)
    (True, False, False)
    """
    return isinstance(value, str) and len(value) <= LONGEST and bool(NAME.fullmatch(value))


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST and bool(ID.fullmatch(value))


def _are_ids(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(map(_is_id, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(map(_is_text, value))


def _are_named_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, (*value, *value.values())))


def _are_presets(value: Any) -> bool:
    return isinstance(value, Mapping) and all(is_name(key) and isinstance(value[key], Mapping) for key in value)


TEXT, TEXTS = (_is_text, "a text"), (_are_texts, 'a tuple of texts, such as (".npz",)')
RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (is_name, "a name of letters, digits, and . _ - +"),
    "ids": (_are_ids, 'a tuple of ids, such as ("XX.F1",)'),
    "title": TEXT, "source": TEXT, "about": TEXT, "remarks": TEXT, "needs": TEXT, "in_print": TEXT, "kept": TEXT,
    "drawn": TEXT, "arguments": TEXTS, "endings": TEXTS,
    "verb": (lambda value: isinstance(value, bool), "True or False"),
    "version": (lambda value: isinstance(value, int), "an integer"),
    "presets": (_are_presets, 'a dictionary such as {"smoke": {"seeds": 2}}'),
    "captions": (_are_named_texts, "a dictionary of texts"), "symbols": (_are_named_texts, "a dictionary of texts"),
    "demonstrations": (_are_named_texts, "demonstrations with names"),
}  # fmt: skip


def check_attributes(where: str, attributes: Mapping[str, Any]) -> None:
    """Raise a UserError if an attribute is missing, which is None here, or not what ``RULES`` say.

    Args:
        where: Whose attributes they are, for the message, such as "its".
        attributes: The values by name. Names without a rule are not checked.
    """
    for name, value in attributes.items():
        holds, wanted = RULES.get(name, (lambda value: True, ""))
        if not holds(value):
            given = "nothing" if value is None else repr(value)[:LONGEST]
            raise UserError(f"{where} {name}: expected {wanted}, got {given}")
