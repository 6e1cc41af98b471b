"""Configuration from the command line: defaults < preset < --config file < --set key=value."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relulab.errors import UserError
from relulab.lab.store import SCHEMA
from relulab.lab.study import Study


def changes(study: type[Study], config: Path | None, assignments: Sequence[str]) -> dict[str, Any]:
    """The fields that a file and ``key=value`` words change, later ones winning; values are checked by the study."""
    found: dict[str, Any] = _read(config) if config else {}
    for word in assignments:
        key, sign, text = word.partition("=")
        if not sign or not key.strip():
            raise UserError(f"--set {word!r}: write it as field=value, for instance --set seeds=4")
        found[key.strip()] = parse(text)
    return {key: _fit(study, key, value) for key, value in found.items()}


def parse(text: str) -> Any:
    """A value as JSON, a list with commas, or plain text.

    >>> parse("0.5"), parse("1,5"), parse("median"), parse("[1, 2]")
    (0.5, [1, 5], 'median', [1, 2])
    """
    text = text.strip()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return [parse(part) for part in text.split(",")] if "," in text.strip(",") else text


def _fit(study: type[Study], key: str, value: Any) -> Any:
    """A single value for a field that takes several becomes a list of one."""
    several = key in study.model_fields and isinstance(study.model_fields[key].default, tuple)
    return [value] if several and not isinstance(value, list | tuple) else value


def _read(path: Path) -> dict[str, Any]:
    if path.suffix not in (".json", ".toml"):
        raise UserError(f"--config {path}: write it as .json or .toml")
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise UserError(f"--config {path}: {error.strerror}") from None
    except ValueError as error:  # both decoders, and text that is not UTF-8
        raise UserError(f"--config {path} is not {'TOML' if path.suffix == '.toml' else 'JSON'}: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"--config {path}: expected was an object of fields and values")
    # The config.json of an earlier run has the fields one level down.
    if not isinstance(document.get("config"), dict):
        return document
    if document.get("schema") != SCHEMA:
        raise UserError(f"--config {path} has schema {document.get('schema')!r}, this relulab reads {SCHEMA}")
    return document["config"]
