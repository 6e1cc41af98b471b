"""Conditions and conclusions of a theorem, as parts of an answer."""

from collections.abc import Mapping
from typing import Any

from relulab.lab.show.parts import Line, Marked, Part
from relulab.lab.show.words import number

SIGNS = {True: "✓", False: "✗", None: "?"}


def finding_parts(document: Mapping[str, Any]) -> list[Part]:
    """A finding, as ``Finding.to_dict`` has it: its verdict, then a line for each condition and conclusion."""
    from relulab.lab.theorem import Verdict

    verdict = document["verdict"]
    return [Line(f"{verdict}  {Verdict[verdict].value}"), *checks(document)]


def checks(document: Mapping[str, Any]) -> list[Part]:
    """For each condition and each part of the conclusion: whether it holds, and what was measured against what."""
    return [
        Marked(
            SIGNS[check["holds"]],
            f"{check['says']}: {number(check['measured'])} {check['relation']} {number(check['bound'])}"
            + (f" ± {number(check['error'])}" if check["error"] else ""),
        )
        for part in ("conditions", "conclusion")
        for check in document[part]
    ]
