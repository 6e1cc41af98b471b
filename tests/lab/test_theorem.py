"""Checks, findings and theorems: which verdict follows from which measurements."""

import math

import pytest

from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict

YES, NO, UNSURE = Check("a", 1, "<=", 2), Check("b", 3, "<=", 2), Check("c", 2, "<=", 2, error=0.5)


@pytest.mark.parametrize(
    "measured, relation, bound, error, holds",
    [
        (1.0, "<=", 2.0, 0.5, True),
        (2.6, "<=", 2.0, 0.5, False),
        (2.2, "<=", 2.0, 0.5, None),
        (1.8, "<=", 2.0, 0.5, None),
        (2.0, "<=", 2.0, 0.0, True),
        (3.0, ">=", 2.0, 0.5, True),
        (1.0, ">=", 2.0, 0.5, False),
        (2.1, ">=", 2.0, 0.5, None),
        (2.4, "==", 2.0, 0.5, True),
        (2.6, "==", 2.0, 0.5, False),
        (math.nan, "==", 2.0, 0.5, None),
        (2.0, "<=", 2.0, math.nan, None),
    ],
)
def test_a_check_holds_fails_or_is_undecided(measured, relation, bound, error, holds):
    assert Check("x", measured, relation, bound, error).holds is holds


def test_an_equation_that_is_too_uncertain_is_undecided():
    assert Check("x", 2.0, "==", 2.0, error=3.0, resolution=1.0).holds is None


@pytest.mark.parametrize(
    "conditions, conclusion, verdict",
    [
        ([YES], [YES], Verdict.HOLDS),
        ([YES], [YES, NO], Verdict.REFUTED),
        ([YES, NO], [YES], Verdict.NOT_APPLICABLE),
        ([UNSURE, NO], [NO], Verdict.NOT_APPLICABLE),
        ([UNSURE], [NO], Verdict.INCONCLUSIVE),
        ([YES], [UNSURE, YES], Verdict.INCONCLUSIVE),
        ([YES], [UNSURE, NO], Verdict.REFUTED),
        ([YES], [], Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts(conditions, conclusion, verdict):
    assert Finding(tuple(conditions), tuple(conclusion)).verdict is verdict


def test_a_finding_is_a_document_without_infinities():
    row = Finding((YES,), (Check("x", math.inf, "<=", 1.0),)).to_dict()
    assert row["verdict"] == "REFUTED"
    assert row["conclusion"][0]["measured"] is None and row["conclusion"][0]["holds"] is False


def test_a_theorem_needs_a_negative_control():
    holds = Demonstration("h", Verdict.HOLDS, lambda: Finding((YES,), (YES,)))
    with pytest.raises(TypeError, match="NOT_APPLICABLE, REFUTED"):
        Theorem("X.1", "t", "s", "p", check=print, demonstrations=(holds,))
