"""Bounds: the minimum over β for known and estimated distributions, corollaries, and the points needed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab import UserError
from relulab.subjects.distillation import (
    Angular,
    EstimatedAngles,
    PolynomialAngles,
    angular_risks,
    margin_bound,
    polynomial_bound,
    samples_needed,
    transfer_bound,
)
from relulab.subjects.distillation.tools.bound import delta

RIGHT = math.pi / 2


def brute(law, n, shift=0.0, tight=False, betas=200_001):
    beta = np.linspace(0, RIGHT - shift, betas)
    p, missed = law.p(beta), law.p(RIGHT - shift - beta) ** n
    return min(1.0, float((p + ((1 - p) if tight else 1) * missed).min()))


@given(st.floats(0.1, 5), st.floats(0.3, RIGHT), st.integers(1, 5000), st.floats(0, 0.5), st.booleans())
@settings(deadline=None, max_examples=60)
def test_the_least_bound_is_that_of_a_fine_grid(kappa, widest, n, shift, tight):
    law = PolynomialAngles(kappa, widest)
    bound = transfer_bound(law, n, delta=shift, tight=tight)
    assert bound.value.item() <= brute(law, n, shift, tight) + 1e-6
    assert bound.value.item() == pytest.approx(brute(law, n, shift, tight), abs=1e-3)
    at = float(bound.beta)
    here = law.p(at) + ((1 - law.p(at)) if tight else 1) * law.p(RIGHT - shift - at) ** n
    assert bound.value.item() == pytest.approx(min(1, float(here)), abs=1e-9) and 0 <= at <= RIGHT - shift


@pytest.mark.parametrize("confidence", [None, 0.95])
@pytest.mark.parametrize("n", [1, 3, 20, 400])
def test_for_a_sample_the_least_is_exact(confidence, n):
    angles = PolynomialAngles(1.5).quantile(np.random.default_rng(n).random(60))
    law = EstimatedAngles(np.repeat(angles, 2), confidence)  # ties too
    bound = transfer_bound(law, n).value.item()
    assert bound <= brute(law, n) + 1e-12
    assert bound == pytest.approx(brute(law, n), abs=1e-9)


def test_it_falls_with_n_the_tight_form_is_below_and_the_corollaries_above():
    n = np.arange(1, 60)
    for kappa in (0.5, 1, 2):
        law = PolynomialAngles(kappa)
        plain, tight = (transfer_bound(law, n, tight=t).value for t in (False, True))
        assert (np.diff(plain) <= 1e-12).all() and (tight <= plain + 1e-12).all()
        assert (plain <= np.minimum(1, polynomial_bound(kappa, n)) + 1e-9).all()
    law = PolynomialAngles(1, 1.2)
    assert (transfer_bound(law, n).value <= margin_bound(float(law.p(RIGHT - 1.2)), n) + 1e-9).all()
    assert transfer_bound(law, [4, 5], d=5).value.tolist()[1] == 0 < transfer_bound(law, [4, 5], d=5).value[0]


def test_the_corollarys_angle_gives_the_corollary():
    for kappa, n in ((0.5, 10), (1, 7), (3, 50)):
        law, beta = PolynomialAngles(kappa), RIGHT * n ** (-1 / n)
        at_beta = law.p(beta) + law.p(RIGHT - beta) ** n
        assert at_beta <= polynomial_bound(kappa, n) and law.p(RIGHT - beta) ** n == pytest.approx(n**-kappa)


def test_students_near_the_limit_pay_by_an_angle():
    assert delta(0.02, 2.0) == pytest.approx(math.sqrt(2 * math.pi * 0.01))
    rng = np.random.default_rng(0)
    for _ in range(200):  # lemma D.3, and that the sharp angle is the largest there is
        w, off = rng.standard_normal((2, 3))
        epsilon = rng.uniform(0, 0.5) * np.linalg.norm(w)
        v = w + off / np.linalg.norm(off) * epsilon
        angle = math.acos(min(1, w @ v / np.linalg.norm(w) / np.linalg.norm(v)))
        sharp = delta(epsilon, float(np.linalg.norm(w)), sharp=True)
        assert angle <= sharp + 1e-7 and sharp <= delta(epsilon, float(np.linalg.norm(w)))
    law = PolynomialAngles(1)
    assert transfer_bound(law, 20, delta=0.1).value > transfer_bound(law, 20).value


@given(st.floats(0.3, 3), st.floats(0.005, 0.9), st.one_of(st.none(), st.integers(2, 200)))
@settings(deadline=None, max_examples=40)
def test_the_points_needed_suffice_and_one_less_does_not(kappa, risk, d):
    law = PolynomialAngles(kappa)
    n = samples_needed(law, risk, d=d)
    assert transfer_bound(law, n, d=d).value <= risk
    assert n == 1 or transfer_bound(law, n - 1, d=d).value > risk


def test_a_band_wider_than_the_wanted_risk_is_never_enough():
    law = EstimatedAngles(np.linspace(0, 1, 100))
    assert samples_needed(law, 0.01) is None and samples_needed(law, 0.01, d=7) == 7


def test_the_band_covers_the_whole_law_as_often_as_it_says():
    rng, theta, law, covered = np.random.default_rng(0), np.linspace(0, RIGHT, 2001), PolynomialAngles(1), 0
    for _ in range(400):
        estimate = EstimatedAngles(law.quantile(rng.random(50)), 0.9)
        # just beyond every angle the share is lowest
        covered += (estimate.p(estimate.steps) >= law.p(estimate.steps) - 1e-12).all() and (
            estimate.p(theta) >= law.p(theta)
        ).all()
    assert 0.9 - 4 * math.sqrt(0.09 / 400) < covered / 400 < 1


def test_an_estimated_law_counts_and_fits():
    law = EstimatedAngles([0.1, 0.2, 0.2, 1.0], None)
    assert law.share(np.array([0.0, 0.1, 0.15, 0.2, 0.5, 1.0, 1.1])).tolist() == [1, 1, 0.75, 0.75, 0.25, 0.25, 0]
    assert sorted(law.quantile(np.array([0.1, 0.3, 0.6, 1.0])).tolist()) == [0.1, 0.2, 0.2, 1.0]
    sample = PolynomialAngles(2.5).quantile(np.random.default_rng(1).random(20_000))
    assert EstimatedAngles(sample).kappa == pytest.approx(2.5, abs=4 * 2.5 / math.sqrt(20_000))
    assert EstimatedAngles([0.3, RIGHT]).kappa == 0 and EstimatedAngles([0.0]).kappa == math.inf
    assert EstimatedAngles.of([[1.0, 1.0], [-2.0, 0.0]], [3.0, 0.0]).angles.tolist() == pytest.approx([0, math.pi / 4])


def test_on_random_tasks_the_bound_is_above_the_lower_limit_of_the_risk():
    rng, nearest = np.random.default_rng(9), math.inf
    for _ in range(150):
        d = int(rng.integers(3, 40))
        n, law = int(rng.integers(1, d)), PolynomialAngles(float(rng.uniform(0.2, 4)), float(rng.uniform(0.6, RIGHT)))
        risks = angular_risks(Angular(d, law), [n], 40, rng)[:, 0]
        bound = transfer_bound(law, n, d=d, tight=True).value.item()
        assert bound >= risks.mean() - 2 * risks.std(ddof=1) / math.sqrt(40)
        nearest = min(nearest, bound / max(risks.mean(), 1e-300))
    assert nearest < 50  # or the comparison would say nothing


@pytest.mark.parametrize("call, message", [
    (lambda: transfer_bound(PolynomialAngles(), 0), "n = 0"),
    (lambda: transfer_bound(PolynomialAngles(), np.array([1.5])), "positive integers"),
    (lambda: transfer_bound(PolynomialAngles(), 3, delta=2.0), "delta = 2.0"),
    (lambda: samples_needed(PolynomialAngles(), 0.0), "wanted risk above 0 and at most 1, got 0.0"),
    (lambda: samples_needed(PolynomialAngles(), 0.1, d=0), "number of dimensions, got d = 0"),
    (lambda: transfer_bound(PolynomialAngles(), 3, d=-3), "number of dimensions, got d = -3"),
    (lambda: delta(0.6, 1.0), "0 ≤ ε ≤ ‖ŵ‖/2"),
    (lambda: margin_bound(1.5, 3), "a probability"),
    (lambda: polynomial_bound(-1, 3), "degree of 0 or more"),
    (lambda: EstimatedAngles([]), "at least one angle"),
    (lambda: EstimatedAngles([2.0]), "from 0 to π/2"),
    (lambda: EstimatedAngles([float("nan")]), "from 0 to π/2"),
    (lambda: EstimatedAngles([0.1], 0.3), "got 0.3"),
    (lambda: EstimatedAngles.of([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0]), "1 of 2 points are zero and have"),
])  # fmt: skip
def test_wrong_arguments_raise_one_sentence(call, message):
    with pytest.raises(UserError) as error:
        call()
    assert message in str(error.value) and "\n" not in str(error.value)
