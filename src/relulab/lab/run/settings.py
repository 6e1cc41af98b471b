"""Configuration from the command line. Precedence: defaults < preset < --config file < --set field=value."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relulab.core.errors import UserError
from relulab.lab.run.store import SCHEMA
from relulab.lab.study import Study

LARGEST = 1_000_000
"""Maximum size of a configuration file, in bytes."""
LONGEST = 10_000  # maximum length of a value, in characters


def changes(study: type[Study], config: Path | None, assignments: Sequence[str]) -> dict[str, Any]:
    """Return the fields that a file and ``field=value`` assignments change. The study checks the values.

    Args:
        study: The study.
        config: A JSON or TOML file, or None.
        assignments: ``field=value`` texts, which override the file; later ones override earlier ones.
    """
    fields = (_read(study, config) if config else {}) | assigned(assignments, "seeds=4")
    return {_short(key): _fit(study, key, _short(value, key)) for key, value in fields.items()}


def assigned(assignments: Sequence[str], example: str) -> dict[str, Any]:
    """Parse ``field=value`` texts.

    Args:
        assignments: The texts.
        example: An assignment that an error message shows as an example.
    """
    fields = {}
    for assignment in assignments:
        key, sign, text = assignment.partition("=")
        if not sign or not key.strip():
            raise UserError(f"--set: expected field=value, got {assignment!r}: write, for example, --set {example}")
        fields[_short(key.strip())] = _short(parse(text), key)
    return fields


def parse(text: str) -> Any:
    """Parse a value: JSON, a list separated by commas, or plain text.

    >>> parse("0.5"), parse("1,5"), parse("median"), parse("[1, 2]")
    (0.5, [1, 5], 'median', [1, 2])
    """
    text = text.strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # not JSON, or numbers too long and lists too deep for Python
        return [parse(part) for part in text.split(",")] if "," in text.strip(",") else text


def _short(value: Any, key: str = "field name") -> Any:
    """Return the value if it is short enough to be quoted in an error message."""
    try:
        length = len(repr(value))
    except (ValueError, RecursionError):  # an integer of thousands of digits; lists in lists in lists
        length = LONGEST + 1
    if length > LONGEST:
        raise UserError(
            f"the value of {key!r} is too long or nested too deeply: a field takes at most {LONGEST:,} characters"
        )
    return value


def _fit(study: type[Study], key: str, value: Any) -> Any:
    """Return the value, as a list of one if the field takes several values."""
    takes_several = key in study.model_fields and isinstance(study.model_fields[key].default, tuple)
    return [value] if takes_several and not isinstance(value, list | tuple) else value


def _read(study: type[Study], path: Path) -> dict[str, Any]:
    """Read the fields in a configuration file, or in the config.json of an earlier run."""
    if path.suffix not in (".json", ".toml"):
        raise UserError(f"--config: expected a .json or .toml file, got {path}")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UserError(f"--config {path} is too large: at most {LARGEST:,} bytes are read")
        text = content.decode("utf-8")
        document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"--config {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # both decoders, and text that is not UTF-8
        raise UserError(f"--config {path} is not valid {path.suffix[1:].upper()}: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"--config {path}: expected an object with fields and values, got {type(document).__name__}")
    # In the config.json of an earlier run the fields are one level down.
    if not isinstance(document.get("config"), dict):
        return document
    if _short(document.get("schema"), "schema") != SCHEMA:
        raise UserError(
            f"--config {path} has schema {document.get('schema')!r}, but this version of relulab reads schema {SCHEMA}"
        )
    if study.name not in (document.get("study"), document.get("file")):  # a comparison names its study there
        raise UserError(
            f"--config {path}: expected a configuration of {study.name}, got one of {document.get('study')!r}"
        )
    return document["config"]
