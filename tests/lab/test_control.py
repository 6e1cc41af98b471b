"""Negative controls of claims: a claim that also holds for its control shows nothing."""

import numpy as np
import pytest
import xarray as xr

from relulab.core.errors import UserError
from relulab.lab.claim import Claim, claim
from relulab.lab.control import Control, controlled
from relulab.lab.theorem import Verdict

UP, EVEN = [0.8, 0.9, 1.0, 1.1, 1.2, 1.0], [0.5, -0.4, 0.3, -0.6, 0.1, 0.1]


def judge(result: xr.Dataset) -> list[Claim]:
    """Two claims on the values of a result."""
    return [claim(f"X.F1.{name}", "The values are positive", result[name].values, ">", 0) for name in ("a", "b")]


def result(a: list[float], b: list[float]) -> xr.Dataset:
    return xr.Dataset({"a": ("seed", a), "b": ("seed", b)})


def test_the_control_is_judged_by_the_same_code_and_kept_with_the_claim():
    a, b = controlled(judge(result(UP, UP)), [Control("noise", ("X.F1.a",), result(EVEN, UP))], judge)
    assert a.verdict is Verdict.HOLDS and b.control is None
    assert a.control is not None and a.control.verdict is Verdict.INCONCLUSIVE
    assert a.control.measured == pytest.approx(np.mean(EVEN)) and a.control.low < 0 < a.control.high
    assert a.to_dict()["control"] == {**a.to_dict()["control"], "name": "noise", "verdict": "INCONCLUSIVE"}


def test_a_claim_that_also_holds_for_its_control_is_inconclusive_and_says_why():
    a, b = controlled(judge(result(UP, UP)), [Control("a shuffled teacher", ("X.F1.*",), result(UP, EVEN))], judge)
    assert a.verdict is Verdict.INCONCLUSIVE and "shows nothing: a shuffled teacher" in a.note
    assert b.verdict is Verdict.HOLDS and not b.note


def test_a_refuted_claim_stays_refuted_whatever_its_control_says():
    down = [-value for value in UP]
    a, _ = controlled(judge(result(down, UP)), [Control("noise", ("X.F1.a",), result(UP, UP))], judge)
    assert a.verdict is Verdict.REFUTED and a.control is not None and a.control.verdict is Verdict.HOLDS


def test_the_first_of_several_controls_counts():
    controls = [Control("first", ("X.F1.a",), result(EVEN, EVEN)), Control("second", ("X.*",), result(UP, EVEN))]
    a, b = controlled(judge(result(UP, UP)), controls, judge)
    assert (a.control.name, b.control.name) == ("first", "second")  # pyrefly: ignore[missing-attribute]
    assert a.verdict is Verdict.HOLDS


def test_an_undefined_control_is_no_success_of_the_control():
    a, _ = controlled(judge(result(UP, UP)), [Control("nothing", ("X.F1.a",), result([np.nan] * 6, UP))], judge)
    assert a.control.verdict is Verdict.INCONCLUSIVE  # pyrefly: ignore[missing-attribute]
    assert a.to_dict()["control"]["measured"] is None


def test_a_claim_without_a_verdict_has_a_control_without_a_verdict():
    a, _ = controlled(judge(result(UP, UP)), [Control("noise", ("X.F1.a",), result(EVEN, UP))], judge)
    small = a.unjudged("too small")
    assert small.control.verdict is Verdict.NOT_JUDGED  # pyrefly: ignore[missing-attribute]
    assert small.control.measured == a.control.measured  # pyrefly: ignore[missing-attribute]


def test_a_control_without_the_claim_is_refused():
    with pytest.raises(UserError, match="the control 'noise' has no value of the claim"):
        controlled(judge(result(UP, UP)), [Control("noise", ("X.F1.b",), result(UP, UP))], lambda r: judge(r)[:1])
    with pytest.raises(UserError, match="expected a tuple of claim ids"):
        Control("noise", (), result(UP, UP))


def test_a_check_of_the_code_is_marked():
    assert claim("X.F1.a", "s", UP, ">", 0, check=True).to_dict()["check"] is True
