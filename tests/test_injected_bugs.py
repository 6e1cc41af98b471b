"""The battery of theorems finds the mistakes that checks are prone to: each is put in, and a wrong verdict is reported.

A tolerance that is absolute or relative to something that may be zero, success without anything to succeed on, and a
condition that is left out.
"""

from functools import partial

import pytest
import torch
from theorem_battery import cases, finding_of, tried

from relulab.core.errors import UserError
from relulab.lab.catalog import theorems
from relulab.lab.theorem import Check, Finding, Verdict


def module_of(id: str) -> str:
    return theorems()[id].check.__module__


def wrong(id: str, what: str, change: str = ""):
    """What the battery says of one case under one change."""
    (case,) = [case for case in cases()[id].cases if case.what == what]
    changes = tuple(c for c in cases()[id].changes_of(case) if c.name == change)
    assert bool(change) == bool(changes), f"{id} has no change {change!r}"
    return tried(id, case, changes, 0)


def absolute(says, measured, relation, bound, error=0.0, *rest, **detail):
    """A check with the tolerance 10⁻⁹ instead of its own."""
    return Check(says, measured, relation, bound, 1e-9, **detail)


@pytest.mark.parametrize(
    ("id", "what", "change"),
    [
        ("SS.L1", "without the gates", "outputs 1e-100"),
        ("SS.T1", "one weight off", "outputs 1e-100"),
        ("SS.T2", "the sum over one side", "outputs 1e-100"),
        ("SS.C1", "a flipped teacher node and a ± pair", "outputs 1e-100"),
        ("SS.L1", "depth 3", "outputs 1e+100"),
        ("SS.T1", "exact students", "outputs 1e+100"),
        ("T5.T1", "the whole teacher", "scaled 1e+100"),
    ],
)
def test_an_absolute_tolerance_is_found(monkeypatch, id, what, change):
    assert wrong(id, what, change) is None
    monkeypatch.setattr(f"{module_of(id)}.Check", absolute)
    if id in ("SS.T2", "SS.C1"):  # their conditions are checked elsewhere
        monkeypatch.setattr(f"{module_of('SS.T1')}.Check", absolute)
    assert wrong(id, what, change) is not None


def test_a_tolerance_relative_to_what_may_be_zero_is_found(monkeypatch):
    """For a teacher that is orthogonal to all points, ŵ is rounding, and so is a distance relative to ‖ŵ‖."""
    assert wrong("T5.T1", "an orthogonal teacher") is None
    monkeypatch.setattr(f"{module_of('T5.T1')}.orthogonal", lambda w_hat, w_star: False)
    found = wrong("T5.T1", "an orthogonal teacher")
    assert found is not None and found.answer is not Verdict.INCONCLUSIVE


def test_lengths_that_are_compared_with_the_longest_are_found(monkeypatch):
    """A sum of points of very different lengths, in which the short ones count as zero."""
    monkeypatch.setattr("relulab.subjects.bias.instruments.separability.signed", _coarse)
    assert wrong("IB.LC1", "norms from 1e-10 to 1e7") is not None


def _coarse(data):
    """Points below 10⁻⁶ of the longest norm become zero."""
    from relulab.subjects.bias.tools.signed_points import signed

    norms = data.X.norm(dim=1, keepdim=True)
    return signed(data._replace(X=data.X * (norms > 1e-6 * norms.max())))


@pytest.mark.parametrize(
    ("id", "what", "name", "value"),
    [
        ("IB.L4", "a path that does not move: zero points", "MOVED", -1.0),
        ("IB.L4", "a path that does not move: a tiny step", "MOVED", -1.0),
    ],
)
def test_a_path_that_does_not_move_is_no_success(monkeypatch, id, what, name, value):
    assert wrong(id, what) is None
    monkeypatch.setattr(f"{module_of(id)}.{name}", value)
    found = wrong(id, what)
    assert found is not None and found.answer is Verdict.HOLDS


def test_a_neuron_that_comes_to_a_kink_is_not_taken_for_a_sliding_one(monkeypatch):
    """The free motion before a neuron reaches a kink does not vanish with the step size."""
    what = "a neuron that reaches a kink within a window"
    assert wrong("IB.LA3", what) is None
    monkeypatch.setattr(f"{module_of('IB.LA3')}._sliding", _crossing)
    assert wrong("IB.LA3", what) is not None


def _crossing(z):
    """Neurons that cross a kink in every quarter of a window, wherever they come from."""
    crossed = (z[1:] > 0) != (z[:-1] > 0)
    kinks = torch.stack([quarter.any(0) for quarter in crossed.chunk(4)]).all(0)
    return kinks, z[0] > 0, ~(crossed.any(0) & ~kinks).any(1)


@pytest.mark.parametrize(
    ("id", "what"),
    [
        ("T5.L1", "one point"),
        ("T5.T1", "an orthogonal teacher"),
        ("S0.T6", "nearly opposite nodes"),
        ("S0.T7", "ẇ = −100 w"),
        ("S0.T7", "students that do not move"),
    ],
)
def test_success_on_nothing_is_found(monkeypatch, id, what):
    """A verdict that takes an undecided or empty conclusion for a success."""
    assert wrong(id, what) is None
    monkeypatch.setattr(Finding, "verdict", property(lambda f: _generous(f)))
    found = wrong(id, what)
    assert found is not None and found.answer is Verdict.HOLDS


def _generous(finding: Finding) -> Verdict:
    if False in [c.holds for c in finding.conditions]:
        return Verdict.NOT_APPLICABLE
    return Verdict.REFUTED if False in [c.holds for c in finding.conclusion] else Verdict.HOLDS


CHEAP = [id for id, one in cases().items() if one.quick is None]


@pytest.mark.parametrize("id", CHEAP)
def test_a_condition_that_is_left_out_is_found(monkeypatch, id):
    """Each condition is left out in turn; that every one has such a case is a test of its own, in test_theorems."""
    fast = [case for case in cases()[id].cases if not case.slow]
    alone = {}
    for case in fast:
        finding = finding_of(id, case)
        failing = [i for i, c in enumerate(finding.conditions) if c.holds is not True] if finding else []
        if len(failing) == 1 and case.expected is Verdict.NOT_APPLICABLE:
            alone.setdefault(finding.conditions[failing[0]].says, (case, failing[0]))
    assert alone
    check = cases()[id].check or theorems()[id].check
    for case, i in alone.values():
        monkeypatch.setattr("theorem_battery.checked", partial(_without, check, i))
        assert tried(id, case, (), 0) is not None, f"{id} without its condition {i} on {case.what}"


def _without(check, i: int, id: str, **arguments) -> Finding:
    try:
        finding = check(**arguments)
    except UserError as error:
        raise AssertionError(str(error)) from error
    return Finding(finding.conditions[:i] + finding.conditions[i + 1 :], finding.conclusion)
