"""The symbols that claims use, with their meanings."""

from collections.abc import Mapping, Sequence
from typing import Any

from relulab.lab.index.terms import meanings
from relulab.lab.show.symbols import used_symbols


def claimed_symbols(claims: Sequence[Mapping[str, Any]], symbols: Mapping[str, str]) -> dict[str, str]:
    """The meanings of the symbols in claims, from the study's own list and from the terms of its subject.

    Args:
        claims: Claims of one study, as ``Claim.to_dict`` has them.
        symbols: The symbols of the study.

    >>> claim = {"id": "SS.F7.a", "says": "Teachers of polarity p = 1 are harder", "statistic": "", "note": ""}
    >>> list(claimed_symbols([claim], {}))
    ['polarity p']
    """
    texts = [text for claim in claims for text in claim_texts(claim)]
    return used_symbols(meanings(claims[0]["id"], symbols, texts), texts) if claims else {}


def claim_texts(claim: Mapping[str, Any]) -> list[str]:
    """The texts of a claim that a reader sees.

    Args:
        claim: A claim, as ``Claim.to_dict`` has it.
    """
    control = claim.get("control") or {}
    return [*(claim.get(part, "") for part in ("says", "statistic", "note")), control.get("name", "")]
