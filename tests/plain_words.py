"""What texts for readers must have: every symbol is defined, and counts are given in words with whole numbers."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from relulab.lab.index.terms import meanings
from relulab.lab.show.finding_parts import finding_texts
from relulab.lab.show.symbols import undefined


def unexplained(id: str, symbols: Mapping[str, str], texts: Iterable[str]) -> list[str]:
    """The symbols that a page with these texts uses without a definition, also in the definitions of others."""
    texts = list(texts)
    shown = meanings(id, symbols, texts)
    return undefined(shown, [*texts, *shown.values()])


def unclear_checks(finding: Mapping[str, Any]) -> list[str]:
    """What is unclear about the checks of a finding, one sentence each."""
    problems = []
    for check in (*finding["conditions"], *finding["conclusion"]):
        counts = isinstance(check["measured"], int) or (check["relation"] == "==" and not check["error"])
        if counts and not check["detail"]:
            problems.append(f"{check['says']}: compares counts, but has no detail in words")
        if re.search(r"\d\.0\b|(?<![\d.,e-])\d{4,}(?![\d.]*[e%])", check["detail"]):
            problems.append(f"{check['says']}: {check['detail']!r} has a whole number that is not written as 4,950")
        if isinstance(check["measured"], float) and isinstance(check["bound"], int) and check["relation"] == "==":
            problems.append(f"{check['says']}: compares {check['measured']!r} with the whole number {check['bound']}")
        if re.search(r"\b(?:nan|inf|True|False|None)\b", check["detail"]):
            problems.append(f"{check['says']}: {check['detail']!r} is not in words")
    return problems


def finding_problems(id: str, symbols: Mapping[str, str], finding: Mapping[str, Any]) -> list[str]:
    """What is unclear about a finding that ``relulab check`` prints."""
    unknown = unexplained(id, symbols, finding_texts(finding))
    return [*unclear_checks(finding), *(f"the symbol {symbol} is not defined" for symbol in unknown)]
