"""Configuration from the command line: defaults < preset < --config file < --set key=value."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relulab.core.errors import UserError
from relulab.lab.run.store import SCHEMA
from relulab.lab.study import Study

LARGEST = 1_000_000
"""Bytes that a file of settings may have."""
LONGEST = 10_000  # characters of a value


def changes(study: type[Study], config: Path | None, assignments: Sequence[str]) -> dict[str, Any]:
    """The fields that a file and ``key=value`` words change, later ones winning; values are checked by the study."""
    found = (_read(study, config) if config else {}) | assigned(assignments, "seeds=4")
    return {_short(key): _fit(study, key, _short(value, key)) for key, value in found.items()}


def assigned(words: Sequence[str], example: str) -> dict[str, Any]:
    """The words ``key=value`` as keys and values."""
    found = {}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign or not key.strip():
            raise UserError(f"--set {word!r}: write it as field=value, for instance --set {example}")
        found[_short(key.strip())] = _short(parse(text), key)
    return found


def parse(text: str) -> Any:
    """A value as JSON, a list with commas, or plain text.

    >>> parse("0.5"), parse("1,5"), parse("median"), parse("[1, 2]")
    (0.5, [1, 5], 'median', [1, 2])
    """
    text = text.strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or numbers and lists that are too long and too deep for Python
        return [parse(part) for part in text.split(",")] if "," in text.strip(",") else text


def _short(value: Any, key: str = "the name of a field") -> Any:
    """The value, if it can be said in a sentence when it turns out wrong."""
    try:
        length = len(repr(value))
    except (ValueError, RecursionError):  # an integer of thousands of digits; lists in lists in lists
        length = LONGEST + 1
    if length > LONGEST:
        raise UserError(f"{key!r}: the value is longer or deeper than any field of a study can be")
    return value


def _fit(study: type[Study], key: str, value: Any) -> Any:
    """A single value for a field that takes several becomes a list of one."""
    several = key in study.model_fields and isinstance(study.model_fields[key].default, tuple)
    return [value] if several and not isinstance(value, list | tuple) else value


def _read(study: type[Study], path: Path) -> dict[str, Any]:
    if path.suffix not in (".json", ".toml"):
        raise UserError(f"--config {path}: write it as .json or .toml")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UserError(f"--config {path} has more than the {LARGEST:,} bytes that are read")
        text = content.decode("utf-8")
        document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"--config {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # both decoders, and text that is not UTF-8
        raise UserError(f"--config {path} is not {'TOML' if path.suffix == '.toml' else 'JSON'}: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"--config {path}: expected was an object of fields and values")
    # The config.json of an earlier run has the fields one level down.
    if not isinstance(document.get("config"), dict):
        return document
    if _short(document.get("schema"), "schema") != SCHEMA:
        raise UserError(f"--config {path} has schema {document.get('schema')!r}, this relulab reads {SCHEMA}")
    if document.get("study") != study.name:
        raise UserError(f"--config {path} is of the study {document.get('study')!r}, not of {study.name}")
    return document["config"]
