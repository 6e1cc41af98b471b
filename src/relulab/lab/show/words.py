"""Numbers, times and verdicts in words, for the terminal and the report."""

from datetime import UTC, datetime
from typing import Any

# The names of relulab.lab.theorem.Verdict in words.
VERDICTS = {
    "HOLDS": "holds",
    "REFUTED": "refuted",
    "INCONCLUSIVE": "inconclusive",
    "NOT_APPLICABLE": "not applicable",
    "NOT_JUDGED": "not judged",
}
NOT_JUDGED = "Not judged: "
"""How the last sentence of a claim's note begins if it says why there is no verdict."""


def number(x: float | None) -> str:
    """
    >>> number(0.12345), number(None), number(5e-18), number(4950), number(18518.3), number(float("inf"))
    ('0.123', '–', '5e-18', '4,950', '18,518', '∞')
    """
    if x is None or x != x:
        return "–"
    if abs(x) == float("inf"):
        return "∞" if x > 0 else "−∞"
    if isinstance(x, int) and abs(x) > 1e300:  # no float is so large
        return "∞" if x > 0 else "−∞"
    return f"{x:,.0f}" if isinstance(x, int) or 1000 <= abs(x) < 1e6 else f"{x:.3g}"


def check_detail(
    detail: str, measured: float | None, relation: str, bound: float | None, error: float | None, holds: bool | None
) -> str:
    """What was measured for a check, and what it must be: its own words, or made from the numbers.

    >>> check_detail("", 113, "==", 0, 0.0, False), check_detail("", 0.25, "<=", 0.2, 0.1, None)
    ('measured 113, must be 0', 'measured 0.25 ± 0.1, must be at most 0.2: too uncertain to decide')
    >>> check_detail("", 2e-16, "==", 0.0, 1e-12, True), check_detail("", 0.5, "==", 0.0, 1e-12, False)
    ('measured 2e-16, must be 0 up to an error of 1e-12', 'measured 0.5, must be 0 up to an error of 1e-12')
    """
    must = {"<=": "at most ", ">=": "at least ", "==": ""}[relation]
    equal = relation == "=="
    # The error of an inequality is of interest if it changes the digits that are shown.
    within = f" ± {number(error)}" if error and not equal and error > abs(measured or 0) / 2000 else ""
    allowed = f" up to an error of {number(error)}" if error and equal else ""
    undecided = ": too uncertain to decide" if holds is None and not detail.startswith("unknown") else ""
    return (detail or f"measured {number(measured)}{within}, must be {must}{number(bound)}{allowed}") + undecided


def differ(gap: float, error: float) -> str:
    """How far the two sides of an equation are apart.

    >>> differ(2e-16, 1e-12)
    'the two sides differ by at most 2e-16; the error allowed is 1e-12'
    """
    return f"the two sides differ by at most {number(gap)}; the error allowed is {number(error)}"


def claim_detail(statistic: str, measured: float | None, low: float | None, high: float | None, criterion: str) -> str:
    """What was measured for a claim, its interval and the criterion.

    >>> claim_detail("share", 0.7, 0.6, 0.8, "> 0.5, the 95% interval over 8 seeds")
    'share: 0.7 (95% interval 0.6 to 0.8), must be > 0.5'
    """
    must = criterion.partition(",")[0]
    if measured is None:
        return f"{statistic or 'measured'}: undefined, must be {must}"
    interval = f"95% interval {number(low)} to {number(high)}"
    return f"{statistic or 'measured'}: {number(measured)} ({interval}), must be {must}"


def control_detail(name: str, measured: float | None, low: float | None, high: float | None) -> str:
    """What the negative control of a claim measured.

    >>> control_detail("students before training", 0.01, -0.1, 0.12)
    'Control, students before training: 0.01 (95% interval -0.1 to 0.12)'
    """
    if measured is None:
        return f"Control, {name}: undefined"
    return f"Control, {name}: {number(measured)} (95% interval {number(low)} to {number(high)})"


def span(seconds: float) -> str:
    """
    >>> span(12.3), span(200), span(7300)
    ('12 s', '3.3 min', '2.0 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def ago(moment: str | None, now: datetime | None = None) -> str:
    """How long ago a time in ISO format was; a time in the future, after the clock was set back, is just now.

    >>> ago("2026-01-01T00:00:00+00:00", datetime(2026, 1, 1, 5, tzinfo=UTC))
    '5.0 h ago'
    """
    try:
        seconds = ((now or datetime.now(UTC)) - datetime.fromisoformat(moment or "")).total_seconds()
    except (ValueError, TypeError):
        return "–"
    if seconds < 5:
        return "just now"
    return f"{span(seconds)} ago" if seconds < 172_800 else f"{seconds / 86_400:.0f} days ago"


def size(count: float) -> str:
    """A number of bytes in a readable unit.

    >>> size(512), size(41_478_613), size(3.2e9)
    ('512 B', '41.5 MB', '3.2 GB')
    """
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def value(x: Any) -> str:
    """The value of a field as written after --set.

    >>> value([1, 2.5]), value(True), value("median")
    ('1, 2.5', 'true', 'median')
    """
    if isinstance(x, list):
        return ", ".join(value(v) for v in x)
    return str(x).lower() if isinstance(x, bool) else str(x)
