"""Theorems on transfer risk and monotonicity beyond their demonstrations: known and estimated distributions."""

import numpy as np
import pytest

from relulab import UserError, Verdict
from relulab.subjects.distillation import (
    Angular,
    PolynomialAngles,
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


def test_a_sample_can_refute_but_not_prove_a_narrow_law():
    X, w_star, law = task()
    margin = task(1.0, 1.1)
    assert large_margin(*margin, n=3).verdict is Verdict.HOLDS
    assert large_margin(*margin[:2], n=3).verdict is Verdict.INCONCLUSIVE
    assert large_margin(X, w_star, beta=1.0, n=3).verdict is Verdict.NOT_APPLICABLE
    assert polynomial_rate(X, w_star, law, kappa=2, n=5).verdict is Verdict.HOLDS
    assert polynomial_rate(X, w_star, kappa=2, n=5).verdict is Verdict.INCONCLUSIVE
    assert polynomial_rate(X, w_star, kappa=4, n=5).verdict is Verdict.NOT_APPLICABLE
    assert polynomial_rate(X, w_star, kappa=0, n=5).verdict is Verdict.INCONCLUSIVE  # a bound of 2 says nothing


def test_a_small_sample_cannot_decide_a_small_bound():
    X, w_star, law = task(1.0, 0.7, N=40)
    finding = transfer_risk_bound(X, w_star, law, n=7, sets=20)
    assert (
        finding.verdict is Verdict.HOLDS and finding.conclusion[0].bound == 0
    )  # a single error would refute it, and there is none
    X, w_star, law = task(4.0, N=40)
    assert transfer_risk_bound(X, w_star, law, n=7, sets=20).verdict is Verdict.INCONCLUSIVE


def test_approximate_students_need_the_allowance():
    X, w_star, law = task(0.5, 0.7, d=3)
    wide = approximate_students(X, w_star, law, epsilon=0.5, n=1)
    assert wide.verdict in (Verdict.HOLDS, Verdict.INCONCLUSIVE) and wide.conclusion[0].bound > 0
    assert approximate_students(X, w_star, law, epsilon=0.5, n=1, exact=True).verdict is Verdict.REFUTED
    for epsilon in (0.01, 0.3):
        sharp, printed = (approximate_students(*task(), epsilon=epsilon, n=5, sharp=s) for s in (True, False))
        assert sharp.conclusion[0].bound <= printed.conclusion[0].bound


def test_monotonicity_does_not_apply_to_repeated_points():
    X, w_star, _ = task(N=6)
    assert strong_monotonicity(X, w_star).verdict is Verdict.HOLDS
    right = X.copy()
    right[2, 0] = 0
    assert (
        strong_monotonicity(right, w_star).verdict is Verdict.HOLDS
    )  # a point orthogonal to the teacher changes nothing
    assert strong_monotonicity(np.concatenate([X, X[:1] * 2]), w_star).verdict is Verdict.NOT_APPLICABLE
    assert strong_monotonicity(X[:1], w_star).verdict is Verdict.INCONCLUSIVE  # nothing was added


def test_wrong_arguments_raise_clear_errors():
    X, w_star, _ = task()
    with pytest.raises(UserError, match="the teacher is zero"):
        transfer_risk_bound(X, w_star * 0)
    with pytest.raises(UserError, match="at most 1998"):
        transfer_risk_bound(X, w_star, n=1999)
    with pytest.raises(UserError, match="expected positive integers"):
        transfer_risk_bound(X, w_star, n=0)


def test_points_parallel_to_the_teacher_fit_any_degree():
    X = np.random.default_rng(0).standard_normal((50, 1))
    assert polynomial_rate(X, np.ones(1), n=1).conclusion[0].measured == 0


def test_a_rare_easy_point_does_not_refute_a_true_bound():
    """Two angles only, so that half of a small sample either has an easy point for all of its sets or for none."""

    class Rare:
        def p(self, theta):
            theta = np.asarray(theta)
            return np.where(theta <= 0.005, 1.0, np.where(theta <= 1.55, 0.98, 0.0))

        def quantile(self, u):
            return np.where(np.asarray(u) <= 0.98, 1.55, 0.005)

    made = Angular(300, Rare())
    for seed in range(12):
        X = made.draw(np.random.default_rng(seed), 200)
        finding = transfer_risk_bound(X, made.e1, Rare(), n=100, sets=20)
        assert finding.verdict is not Verdict.REFUTED


@pytest.mark.parametrize("kappa", [1.0, 1.7, 2.4, 4.0])
def test_a_law_that_the_sample_contradicts_does_not_apply(kappa):
    X, w_star, _ = task(2.0)
    for check, options in ((transfer_risk_bound, {}), (polynomial_rate, {"kappa": kappa}), (approximate_students, {})):
        assert check(X, w_star, PolynomialAngles(kappa), n=5, sets=20, **options).verdict is Verdict.NOT_APPLICABLE
    fits = [transfer_risk_bound(*task(2.0, N=200, seed=seed), n=5, sets=5).conditions[-1] for seed in range(40)]
    assert all(check.holds and "given distribution" in check.says for check in fits)  # chance: 1 in 10,000 each


def test_a_law_that_the_sample_contradicts_gives_no_margin():
    X, w_star, _ = task(1.0, 1.1)
    assert large_margin(X, w_star, PolynomialAngles(1.0, 0.9), n=3, sets=20).verdict is Verdict.NOT_APPLICABLE
