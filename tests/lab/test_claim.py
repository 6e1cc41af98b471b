"""Claims: the coverage of intervals, and verdicts that need the whole interval."""

import numpy as np
import pytest
from scipy import stats

from relulab.lab.claim import claim, rank_correlation
from relulab.lab.theorem import Verdict


@pytest.mark.parametrize("relation, bound, verdict", [
    (">", 0.0, "HOLDS"), (">", 1.0, "INCONCLUSIVE"), (">", 2.0, "REFUTED"),
    ("<", 2.0, "HOLDS"), ("<", 1.0, "INCONCLUSIVE"), ("<", 0.0, "REFUTED"),
])  # fmt: skip
def test_the_whole_interval_decides(relation, bound, verdict):
    c = claim("X", "mean 1", [0.8, 0.9, 1.0, 1.1, 1.2], relation, bound)
    assert c.verdict.name == verdict and c.low < c.measured < c.high


def test_interval_is_students():
    values = [0.2, 0.5, 0.1, 0.9, 0.4, 0.6]
    low, high = stats.t.interval(0.95, 5, np.mean(values), stats.sem(values))
    c = claim("X", "s", values, ">", 0)
    assert (c.low, c.high) == pytest.approx((low, high))


def test_interval_has_its_nominal_coverage():
    rng = np.random.default_rng(0)
    covered = [c.low < 0 < c.high for c in (claim("X", "s", rng.normal(size=8), ">", 0) for _ in range(2000))]
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 2000)


def test_a_missing_seed_gives_no_verdict():
    c = claim("X", "s", [1.0, 1.1, 0.9, np.nan, 1.0, 1.0], ">", 0)
    assert c.verdict.name == "INCONCLUSIVE" and c.note == "Undefined in 1 of 6 seeds."


@pytest.mark.parametrize("values, why", [
    ([1.0] * 4, "4 seeds, a verdict needs 5"), ([-1.0], "1 seed, a verdict needs 5"), ([np.nan] * 2, "2 seeds, a verd"),
])  # fmt: skip
def test_few_seeds_are_not_judged(values, why):
    c = claim("X", "s", values, ">", 0, note="One fact.")
    assert c.verdict.name == "NOT_JUDGED" and c.note.startswith(f"One fact. Not judged: {why}")
    assert "Undefined" not in c.note and c.values[:1] == pytest.approx(values[:1], nan_ok=True)


def test_the_reason_for_no_verdict_stays_last_and_is_given_once():
    c = claim("X", "s", [-1.0] * 2, ">", 0, note="One fact.").noted("Another fact.")
    assert c.note == "One fact. Another fact. Not judged: 2 seeds, a verdict needs 5."
    assert c.unjudged("too small").note == "One fact. Another fact. Not judged: too small."
    refuted = claim("X", "s", [-1.0] * 9, ">", 0)
    assert refuted.verdict.name == "REFUTED" and refuted.unjudged("too small").verdict.name == "NOT_JUDGED"
    assert refuted.noted("") == refuted


def test_a_tie_with_the_bound_is_inconclusive():
    assert claim("X", "s", [0.0] * 6, ">", 0).verdict.name == "INCONCLUSIVE"


def test_a_document_has_no_nan():
    assert claim("X", "s", [np.nan] * 6, ">", 0).to_dict()["measured"] is None


def test_rank_correlation_is_spearmans():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 5, (2, 7, 12)).astype(float)
    expected = [stats.spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)]
    assert rank_correlation(a, b) == pytest.approx(expected)


def test_rank_correlation_of_a_constant_or_of_nan_is_undefined():
    assert np.isnan(rank_correlation(np.ones(4), np.arange(4.0)))
    assert np.isnan(rank_correlation(np.array([1.0, np.nan, 2.0]), np.arange(3.0)))
    assert np.isnan(rank_correlation(np.empty((2, 0)), np.empty(0))).tolist() == [True, True]


def test_intervals_stay_within_what_is_possible():
    c = claim("X", "a share", [0.9, 1.0, 1.0, 0.7, 1.0], ">", 0.5, within=(0, 1))
    assert c.high == 1 and c.low < c.measured


@pytest.mark.parametrize(
    ("yes", "no", "verdict"),
    [(5, 0, Verdict.INCONCLUSIVE), (6, 0, Verdict.HOLDS), (13, 3, Verdict.HOLDS), (11, 5, Verdict.INCONCLUSIVE),
     (0, 6, Verdict.REFUTED)],
)  # fmt: skip
def test_a_share_of_seeds_has_an_exact_interval(yes, no, verdict):
    from scipy.stats import binomtest

    c = claim("X", "most seeds do", [1.0] * yes + [0.0] * no, ">", 0.5, within=(0, 1), trials=1)
    interval = binomtest(yes, yes + no).proportion_ci(0.95)
    assert (c.low, c.high) == pytest.approx((interval.low, interval.high)) and c.verdict is verdict


def test_shares_of_many_cases_know_how_many_they_were():
    all_of_them = claim("X", "always", [1.0] * 10, ">", 0.999, within=(0, 1), trials=200)
    assert all_of_them.low == pytest.approx(0.99816, abs=1e-5) and all_of_them.verdict is Verdict.INCONCLUSIVE
    assert claim("X", "always", [1.0] * 10, ">", 0.99, within=(0, 1), trials=200).verdict is Verdict.HOLDS
    spread = [0.2, 0.9, 0.4, 0.8, 0.7, 0.3]  # seeds differ by more than chance, so their interval is the wider one
    assert claim("X", "often", spread, ">", 0, within=(0, 1), trials=1000) == claim(
        "X", "often", spread, ">", 0, within=(0, 1)
    )
