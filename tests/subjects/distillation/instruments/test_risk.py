"""Transfer risk: counted, exact on the sphere and under angle laws, and the curve over n."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from relulab import UserError
from relulab.subjects.distillation import (
    Angular,
    EstimatedAngles,
    PolynomialAngles,
    SphereAngles,
    angle,
    angular_risk,
    angular_risks,
    monotonicity,
    sample_risks,
    signed_angle,
    spherical_risk,
    transfer_risk,
)
from relulab.subjects.distillation.tools.learners import less_biased


def turned(alpha: float, d: int) -> np.ndarray:
    """A unit vector at an angle to the first axis."""
    return np.concatenate([[math.cos(alpha), math.sin(alpha)], np.zeros(d - 2)])


def test_angles_agree_with_arccos_and_tiny_angles_are_accurate():
    rng = np.random.default_rng(0)
    u, v = torch.from_numpy(rng.standard_normal((2, 50, 4)))
    cos = (u * v).sum(1) / u.norm(dim=1) / v.norm(dim=1)
    np.testing.assert_allclose(signed_angle(u, v), torch.arccos(cos), atol=1e-7)
    np.testing.assert_allclose(angle(u, v), torch.arccos(cos.abs()), atol=1e-7)
    for tiny in (1e-6, 1e-10, 1e-14):
        w = torch.from_numpy(turned(tiny, 3))
        for measured in (signed_angle(w, torch.eye(3).double()[0]), angle(-w, torch.eye(3).double()[0])):
            assert float(measured) == pytest.approx(tiny, rel=1e-2)
    for u, message in (
        (torch.zeros(3), "zero or contain NaN"),
        (torch.ones(2), "the same number of entries|shapes that broadcast"),
        ([["a"]], "numbers"),
    ):
        with pytest.raises(UserError, match=message):
            angle(u, torch.ones(3))


def test_arrays_lists_and_mixed_precision_work_like_tensors():
    u, v = np.array([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([1.0, 1.0])
    plain = angle(torch.from_numpy(u), v.double())
    for given in (angle(u, v), angle(u.tolist(), v.tolist()), angle(torch.from_numpy(u).float(), v.double())):
        np.testing.assert_allclose(given, plain, rtol=1e-12)
    assert float(angular_risk(0.5, SphereAngles(4), 4)) == pytest.approx(0.5 / math.pi, abs=1e-8)
    with pytest.raises(UserError, match="from 0 to π"):
        angular_risk([4.0], SphereAngles(4), 4)
    assert monotonicity(u, u[::-1], [1.0, 0.0]).item() == 0.5
    with pytest.raises(UserError, match="same shape"):
        monotonicity(u, u[:1], [1.0, 0.0])


def test_counted_risk_has_the_clopper_pearson_interval():
    rng = np.random.default_rng(1)
    X, w, w_star = rng.standard_normal((60, 4)), rng.standard_normal((3, 4)), rng.standard_normal(4)
    measured = transfer_risk(w, w_star, X, confidence=0.9)
    for i in range(3):
        wrong = sum((X[k] @ w[i] >= 0) != (X[k] @ w_star >= 0) for k in range(60))
        interval = binomtest(int(wrong), 60).proportion_ci(0.9)
        assert float(measured.value[i]) == wrong / 60
        assert (float(measured.low[i]), float(measured.high[i])) == pytest.approx(
            (interval.low, interval.high), abs=1e-9
        )
    same = transfer_risk(w_star, w_star, X)
    assert (float(same.value), float(same.low)) == (0, 0) and 0 < float(same.high) < 0.1


def test_on_the_sphere_the_risk_is_the_angle_over_pi():
    rng = np.random.default_rng(2)
    w, w_star, X = rng.standard_normal(5), rng.standard_normal(5), rng.standard_normal((20_000, 5))
    exact = float(spherical_risk(torch.from_numpy(w), torch.from_numpy(w_star)))
    assert transfer_risk(w, w_star, X).value.item() == pytest.approx(exact, abs=4 * 0.5 / math.sqrt(20_000))


@pytest.mark.parametrize("d", [2, 3, 4, 20, 500])
def test_the_integral_over_angles_of_the_sphere_is_the_angle_over_pi(d):
    alpha = torch.tensor([0.0, 1e-5, 0.2, 1.0, 1.5, math.pi / 2, 2.0, 3.1], dtype=torch.float64)
    np.testing.assert_allclose(angular_risk(alpha, SphereAngles(d), d), alpha / math.pi, atol=1e-7)


@pytest.mark.parametrize("law", [PolynomialAngles(0.5), PolynomialAngles(2), PolynomialAngles(1, 1.3)], ids=repr)
@pytest.mark.parametrize("d, alpha", [(2, 0.9), (3, 1.2), (10, 1.4), (10, 1.9), (100, 1.5)])
def test_the_integral_agrees_with_counting(law, d, alpha):
    N = 20_000
    X = Angular(d, law).draw(np.random.default_rng(3), N)
    exact = float(angular_risk(torch.tensor([alpha], dtype=torch.float64), law, d)[0])
    measured = transfer_risk(turned(alpha, d), turned(0, d), X, confidence=0.9999)
    assert float(measured.low) <= exact <= float(measured.high)


def test_for_an_estimated_law_the_risk_is_the_mean_over_its_angles():
    a, alpha = np.array([0.2, 1.0, 1.4, math.pi / 2]), 0.5
    for d in (2, 5):
        X = np.concatenate([Angular(d, EstimatedAngles([one])).draw(np.random.default_rng(1), 20_000) for one in a])
        exact = float(angular_risk(alpha, EstimatedAngles(a), d))
        measured = transfer_risk(turned(alpha, d), turned(0, d), X, confidence=0.9999)
        assert float(measured.low) <= exact <= float(measured.high)
        assert float(angular_risk(0.0, EstimatedAngles(a), d)) == 0


def test_columns_with_very_different_scales():
    X = np.random.default_rng(0).standard_normal((400, 6)) * np.array([1, 1, 1, 1, 1, 1e14])
    w_star = np.array([1.0, 1, 1, 1, 1, 0])
    measured = sample_risks(X, w_star, [1], sets=50, rng=np.random.default_rng(1))
    assert 0.3 < measured.risk[0] < 0.7


def test_the_curve_of_a_sample_agrees_with_plain_loops():
    """A naive version draws the same sets and uses the pseudo-inverse, point by point."""
    rng = np.random.default_rng(4)
    X, w_star = rng.standard_normal((30, 5)), rng.standard_normal(5)
    measured = sample_risks(X, w_star, [1, 3, 5], sets=7, rng=np.random.default_rng(5))
    twin = np.random.default_rng(5)
    order = twin.permutation(30)
    some, rest = X[order[:15]], X[order[15:]]
    shares = np.zeros((7, 3))
    for s in range(7):
        chosen = some[twin.permutation(15)[:5]]
        for j, n in enumerate((1, 3, 5)):
            w = np.linalg.pinv(chosen[:n]) @ chosen[:n] @ w_star
            shares[s, j] = np.mean([(x @ w >= 0) != (x @ w_star >= 0) for x in rest])
    np.testing.assert_allclose(measured.risk, shares.mean(0), atol=1e-12)
    assert (
        (measured.low <= measured.risk).all()
        and (measured.risk <= measured.high).all()
        and measured.rank.tolist() == [1, 3, 5]
    )


def test_intervals_of_the_curve_cover_the_exact_risk():
    task, n, held = Angular(8, PolynomialAngles(1)), [1, 4, 7], 0
    exact = angular_risks(task, n, 4000, np.random.default_rng(6)).mean(0)
    for seed in range(40):
        rng = np.random.default_rng(100 + seed)
        measured = sample_risks(task.draw(rng, 400), task.e1, n, sets=40, rng=rng)
        held += ((measured.low <= exact) & (exact <= measured.high)).sum()
    assert held / 120 > 0.95 - 4 * math.sqrt(0.05 * 0.95 / 40)  # three numbers of one sample go together


def test_other_minimizers_do_worse():
    task = Angular(20, PolynomialAngles(2))
    X = task.draw(np.random.default_rng(7), 1000)
    plain = sample_risks(X, task.e1, [10], sets=50, rng=np.random.default_rng(8))
    noisy = sample_risks(X, task.e1, [10], sets=50, rng=np.random.default_rng(8), learner=less_biased(5.0))
    assert noisy.low[0] > plain.high[0]


@pytest.mark.parametrize("n, sets, message", [
    ([0], 5, "expected positive integers"), ([], 5, "expected positive integers"), ([29], 5, "at most 28"),
    ([2], 1, "expected at least 2 transfer sets"),
])  # fmt: skip
def test_impossible_curves_are_rejected(n, sets, message):
    with pytest.raises(UserError, match=message):
        sample_risks(np.eye(30, 4), np.ones(4), n, sets=sets, rng=np.random.default_rng(0))


def test_a_tie_is_no_improvement():
    rng = np.random.default_rng(0)
    before, w_star = rng.standard_normal((100, 5)), rng.standard_normal(5)
    before *= np.sign(before @ w_star)[:, None]
    noise = before * (1 + 1e-15 * rng.standard_normal((100, 5)))
    assert float(monotonicity(before, noise, w_star)) == 0.0  # about half of the angles are smaller by rounding
    assert float(monotonicity(before, before + 1e-3 * w_star, w_star)) == 1.0
    single = [array.astype(np.float32) for array in (before, noise, w_star)]
    assert float(monotonicity(*single)) == 0.0
