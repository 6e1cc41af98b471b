"""The fields of the documents of a run that commands use, with their types. Anything else in them is left out.

A run folder may have been edited or made by somebody else, so a command never relies on what a document contains.
"""

from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, tuple[type, ...]]
NUMBER: tuple[type, ...] = (int, float)
NONE = type(None)
STATUS: Fields = {
    "state": (str,), "units": (int,), "done": (int,), "seconds": NUMBER, "workers": (int,), "seed_steps": (int,),
    "updated": (str,),
}  # fmt: skip
PROGRESS: Fields = {
    "done": (int,), "units": (int,), "seed_steps": (int,), "share": NUMBER, "rate": NUMBER, "left": (*NUMBER, NONE),
    "memory": NUMBER,
}  # fmt: skip
CLAIM: Fields = {
    "id": (str,), "says": (str,), "measured": (*NUMBER, NONE), "low": (*NUMBER, NONE), "high": (*NUMBER, NONE),
    "criterion": (str,), "verdict": (str,), "note": (str,),
}  # fmt: skip
CONTROL: Fields = {
    "name": (str,), "measured": (*NUMBER, NONE), "low": (*NUMBER, NONE), "high": (*NUMBER, NONE), "verdict": (str,),
}  # fmt: skip
VERDICTS = ("HOLDS", "REFUTED", "INCONCLUSIVE", "NOT_APPLICABLE", "NOT_JUDGED")
LARGEST = 1e15  # of a whole number
LONGEST = 20_000  # characters of a text


def known(document: Any, fields: Fields) -> dict[str, Any]:
    """Return the fields of a document that have the right type; empty if it is no dictionary.

    Args:
        document: What was read from a file.
        fields: The types of each field.

    >>> known({"state": "running", "units": "many", "more": 1}, STATUS)
    {'state': 'running'}
    """
    if not isinstance(document, dict):
        return {}
    return {name: document[name] for name, types in fields.items() if name in document and _is(document[name], types)}


def are_claims(document: Any) -> bool:
    """Whether a document is a list of claims.

    Args:
        document: What was read from a file.
    """
    return isinstance(document, list) and all(
        _whole(claim, CLAIM)
        and isinstance(claim.get("statistic", ""), str)
        and isinstance(claim.get("check", False), bool)
        and (claim.get("control") is None or _whole(claim["control"], CONTROL))
        for claim in document
    )


def _whole(document: Any, fields: Fields) -> bool:
    """Whether a document has all fields, and a verdict."""
    return len(known(document, fields)) == len(fields) and document["verdict"] in VERDICTS


def _is(value: Any, types: tuple[type, ...]) -> bool:
    if isinstance(value, str) and len(value) > LONGEST:
        return False
    return type(value) in types and not (isinstance(value, int) and abs(value) > LARGEST)
