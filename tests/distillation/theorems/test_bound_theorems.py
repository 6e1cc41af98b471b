"""Theorems on transfer risk and monotonicity, beyond their demonstrations: on samples, with laws known and not."""

import numpy as np
import pytest

from relulab import (
    Angular,
    PolynomialAngles,
    UserError,
    Verdict,
    approximate_students,
    large_margin,
    polynomial_rate,
    strong_monotonicity,
    transfer_risk_bound,
)


def task(kappa=2.0, widest=np.pi / 2, d=8, N=2000, seed=0):
    made = Angular(d, PolynomialAngles(kappa, widest))
    return made.draw(np.random.default_rng(seed), N), made.e1, made.law


def test_with_an_estimated_law_the_bound_is_larger():
    X, w_star, law = task()
    known = transfer_risk_bound(X, w_star, law, n=5)
    estimated = transfer_risk_bound(X, w_star, n=5)
    assert known.verdict is estimated.verdict is Verdict.HOLDS
    assert known.conclusion[0].measured == estimated.conclusion[0].measured
    assert known.conclusion[0].bound < estimated.conclusion[0].bound < 1


def test_of_a_sample_it_can_be_refuted_but_not_proved_that_the_law_is_narrow():
    X, w_star, law = task()
    margin = task(1.0, 1.1)
    assert large_margin(*margin, n=3).verdict is Verdict.HOLDS
    assert large_margin(*margin[:2], n=3).verdict is Verdict.INCONCLUSIVE
    assert large_margin(X, w_star, beta=1.0, n=3).verdict is Verdict.NOT_APPLICABLE
    assert polynomial_rate(X, w_star, law, kappa=2, n=5).verdict is Verdict.HOLDS
    assert polynomial_rate(X, w_star, kappa=2, n=5).verdict is Verdict.INCONCLUSIVE
    assert polynomial_rate(X, w_star, kappa=4, n=5).verdict is Verdict.NOT_APPLICABLE
    assert polynomial_rate(X, w_star, kappa=0, n=5).verdict is Verdict.HOLDS  # which says nothing, as the text notes


def test_too_small_a_sample_cannot_tell_a_small_bound():
    X, w_star, law = task(1.0, 0.7, N=40)
    found = transfer_risk_bound(X, w_star, law, n=7, sets=20)
    assert found.verdict is Verdict.HOLDS and found.conclusion[0].bound == 0  # not one error may be met, nor is
    X, w_star, law = task(4.0, N=40)
    assert transfer_risk_bound(X, w_star, law, n=7, sets=20).verdict is Verdict.INCONCLUSIVE


def test_students_that_are_off_need_the_allowance():
    X, w_star, law = task(0.5, 0.7, d=3)
    wide = approximate_students(X, w_star, law, epsilon=0.5, n=1)
    assert wide.verdict in (Verdict.HOLDS, Verdict.INCONCLUSIVE) and wide.conclusion[0].bound > 0
    assert approximate_students(X, w_star, law, epsilon=0.5, n=1, exact=True).verdict is Verdict.REFUTED
    for epsilon in (0.01, 0.3):
        sharp, printed = (approximate_students(*task(), epsilon=epsilon, n=5, sharp=s) for s in (True, False))
        assert sharp.conclusion[0].bound <= printed.conclusion[0].bound


def test_monotonicity_does_not_speak_of_points_at_a_right_angle_or_of_repeated_ones():
    X, w_star, _ = task(N=6)
    assert strong_monotonicity(X, w_star).verdict is Verdict.HOLDS
    right = X.copy()
    right[2, 0] = 0
    assert strong_monotonicity(right, w_star).verdict is Verdict.NOT_APPLICABLE
    assert strong_monotonicity(np.concatenate([X, X[:1] * 2]), w_star).verdict is Verdict.NOT_APPLICABLE
    assert strong_monotonicity(X[:1], w_star).verdict is Verdict.INCONCLUSIVE  # nothing was added


def test_mistakes_are_one_sentence():
    X, w_star, _ = task()
    with pytest.raises(UserError, match="the teacher is zero"):
        transfer_risk_bound(X, w_star * 0)
    with pytest.raises(UserError, match="at most 1998"):
        transfer_risk_bound(X, w_star, n=1999)
