"""Conditions and conclusions of a theorem, as parts of an answer."""

from collections.abc import Iterator, Mapping
from typing import Any

from relulab.lab.show.parts import Fact, Line, Marked, Part
from relulab.lab.show.symbols import used_symbols
from relulab.lab.show.words import check_detail


def finding_parts(document: Mapping[str, Any]) -> list[Part]:
    """The parts of a finding, as ``Finding.to_dict`` has it: the verdict first, then what decided it.

    Args:
        document: The finding.
    """
    from relulab.lab.theorem import Verdict

    verdict = document["verdict"]
    return [
        Line(f"{verdict}: {Verdict[verdict].value}"),
        *checks(document),
        *symbol_parts(used_symbols(document.get("symbols", {}), finding_texts(document))),
    ]


def finding_texts(document: Mapping[str, Any]) -> list[str]:
    """All sentences of a finding.

    Args:
        document: The finding.
    """
    rows = [*document["conditions"], *document["conclusion"]]
    return [text for row in rows for text in (row["says"], row["detail"])]


def symbol_parts(symbols: Mapping[str, str]) -> list[Part]:
    """A list of symbols and terms with their meanings; nothing if it is empty.

    Args:
        symbols: The meanings.
    """
    return [Line("Symbols and terms", "strong"), *(Fact(*item) for item in symbols.items())] if symbols else []


def checks(document: Mapping[str, Any]) -> Iterator[Part]:
    """One marked line for each condition and each part of the conclusion, with what was measured.

    Args:
        document: The finding.
    """
    from relulab.lab.theorem import SIGNS

    for part, title in (("conditions", "Conditions"), ("conclusion", "Conclusion")):
        if document[part]:
            yield Line(title, "strong")
            for check in document[part]:
                numbers = (check[name] for name in ("measured", "relation", "bound", "error", "holds"))
                yield Marked(SIGNS[check["holds"]], f"{check['says']}: {check_detail(check['detail'], *numbers)}")
