"""One battery for all theorems: known verdicts, which rescaling, rotation, permutation and repetition do not change."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theorem_battery import KINDS, Wrong, cases, conditions_of, first_answer, missing, tried, unguarded

from relulab.lab.catalog import theorems
from relulab.lab.theorem import Verdict

QUICK = {id: [case for case in one.cases if not case.slow] for id, one in cases().items()}
FAST_FIRST = sorted(cases(), key=lambda id: cases()[id].quick is not None)


def test_every_theorem_brings_its_cases():
    assert not missing(), missing()


def test_a_theorem_without_a_case_is_named(monkeypatch):
    one = theorems()["SS.L1"]
    monkeypatch.setattr("theorem_battery.theorems", lambda: {**dict.fromkeys(cases(), one), "SS.L99": one})
    assert missing().startswith("the theorem SS.L99 has no case: add cases to CASES in tests/subjects/")


@pytest.mark.parametrize("id", cases())
def test_there_are_true_and_false_cases(id):
    expected = {case.expected for case in cases()[id].cases}
    assert Verdict.HOLDS in expected and expected & {Verdict.REFUTED, Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize("id", cases())
def test_every_kind_of_change_is_tried_or_there_is_a_reason(id):
    one = cases()[id]
    untried = {kind for kind in KINDS if not any(change.name.startswith(kind) for change in one.changes)}
    assert untried == set(one.without) and all(one.without.values())


def _words(value: object) -> str:
    return getattr(value, "what", str(value))


@pytest.mark.parametrize(("id", "case"), [(id, case) for id in FAST_FIRST for case in QUICK[id]], ids=_words)
def test_the_verdict_is_the_known_one(id, case):
    answer, _ = first_answer(id, case)  # kept for the test of the conditions
    assert case.right(answer), str(Wrong(id, case.what, "", answer, 0))


@pytest.mark.parametrize("id", FAST_FIRST)
def test_changes_do_not_change_the_verdict(id):
    one = cases()[id]

    @settings(max_examples=3 if one.quick else 12, deadline=None, derandomize=True, database=None)
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        case = data.draw(st.sampled_from([c for c in QUICK[id] if one.changes_of(c, quick=True)]))
        names = {change.name: change for change in one.changes_of(case, quick=True)}
        chosen = data.draw(st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=2, unique_by=_kind))
        chosen = ["float32"] if "float32" in chosen else chosen  # other numbers leave the range of float32
        wrong = tried(id, case, tuple(names[name] for name in chosen), data.draw(st.integers(0, 999)))
        assert wrong is None, str(wrong)

    holds()


def _kind(name: str) -> str:
    """Changes of one kind are not combined: two scales may leave the range of float64 together."""
    return name.split()[0]


@pytest.mark.parametrize("id", [id for id in cases() if id != "LM.T5"])  # its cases take half a minute
def test_every_condition_is_needed_in_some_case(id):
    assert conditions_of(id, QUICK[id])
    assert unguarded(id, QUICK[id]) == set(cases()[id].never_alone)
