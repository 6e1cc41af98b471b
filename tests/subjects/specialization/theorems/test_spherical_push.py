"""S0.T6: the closed form by quadrature, and verdicts on samples."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from relulab import Gaussian, UserError, Verdict
from relulab.subjects.specialization import spherical_push
from relulab.subjects.specialization.theorems.spherical_push import _spread, closed_form
from relulab.subjects.specialization.tools.sphericity import LEVEL, bernstein, sphericity, uniform_angles


@pytest.mark.parametrize("theta", [0.0, 0.3, math.pi / 2, 2.5, math.pi - 1e-9])
@pytest.mark.parametrize("size, size_star", [(1.0, 1.0), (0.2, 3.0)])
def test_closed_form_by_quadrature_in_the_plane(theta, size, size_star):
    """In polar coordinates E r² = 2 for N(0, I₂), and the angle runs over the points where both nodes are active."""
    w, w_star = size * np.array([math.cos(theta), math.sin(theta)]), size_star * np.array([1.0, 0.0])

    def integrand(phi, axis):
        u = np.array([math.cos(phi), math.sin(phi)])
        return 2 * u[axis] * (u @ w >= 0) * max(u @ w_star, 0) / (2 * math.pi)

    kinks = [theta - math.pi / 2, math.pi / 2, -math.pi / 2]
    limits = sorted({-math.pi, math.pi, *((k + math.pi) % (2 * math.pi) - math.pi for k in kinks)})
    slow = [sum(quad(integrand, a, b, args=(axis,))[0] for a, b in pairwise(limits)) for axis in (0, 1)]
    assert closed_form(torch.tensor(w), torch.tensor(w_star)).numpy() == pytest.approx(slow, abs=1e-9)


def sample(d=6, n=50_000, seed=1):
    rng = np.random.default_rng(seed)
    w, w_star = torch.from_numpy(rng.standard_normal((2, d)))
    return w, w_star, torch.from_numpy(Gaussian(d, 0.7).draw(rng, n))


def test_holds_for_any_spherical_distribution_and_any_length():
    w, w_star, x = sample()
    on_sphere = x / x.norm(dim=1, keepdim=True)
    for inputs in (x, on_sphere):
        for scale in (1e-3, 1.0, 50.0):
            assert spherical_push(w * scale, w_star, inputs).verdict is Verdict.HOLDS


def covariances():
    first_is_average = torch.tensor([1.0, 0.5, 1.5, 1.0, 0.5, 1.5])
    turned = torch.linalg.qr(torch.randn(6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)).Q
    return {
        "stretched": torch.diag(torch.linspace(0.5, 2, 6)),
        "first axis as the average": torch.diag(first_is_average.sqrt()),
        "stretched along other axes": turned * torch.linspace(0.7, 1.4, 6),
    }


@pytest.mark.parametrize("law", covariances())
def test_stretched_inputs_are_not_applicable(law):
    w, w_star, x = sample()
    assert spherical_push(w, w_star, x @ covariances()[law].double().T).verdict is Verdict.NOT_APPLICABLE


def test_shifted_inputs_are_not_applicable():
    w, w_star, x = sample()
    assert spherical_push(w, w_star, x + 0.2).verdict is Verdict.NOT_APPLICABLE


def test_opposite_and_equal_weights():
    w, _, x = sample()
    for w_star in (-w, 2 * w):
        assert spherical_push(w, w_star, x).verdict is Verdict.HOLDS


def test_the_printed_factor_never_holds():
    """However few the points, the false variant is refuted or undecided."""
    for seed in range(30):
        for n in (20, 200, 600, 2000, 20_000):
            w, w_star, x = sample(d=10, n=n, seed=seed)
            finding = spherical_push(2 * w / w.norm(), w_star, x, as_printed=True)
            assert finding.verdict is not Verdict.HOLDS, (seed, n)
    assert finding.verdict is Verdict.REFUTED


def test_spherical_distributions_satisfy_the_conditions():
    """Conditions are wrong once in 16,000 cases each; forty right cases must all pass."""
    for seed in range(40):
        w, w_star, x = sample(d=8, n=3000, seed=seed)
        assert all(check.holds for check in spherical_push(w, w_star, x).conditions), seed


def test_zero_weights_and_wrong_sizes_raise_an_error():
    w, w_star, x = sample(n=100)
    with pytest.raises(UserError, match="must be nonzero"):
        spherical_push(w * 0, w_star, x)
    with pytest.raises(UserError, match="entries"):
        spherical_push(w[:3], w_star, x)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_coordinates_with_the_first_moments_of_a_gaussian_are_not_spherical(d):
    """All moments up to the fifth agree with those of N(0, I), but three values are not spherical."""
    rng = np.random.default_rng(d)
    x = torch.from_numpy(rng.choice([-math.sqrt(3), 0, math.sqrt(3)], p=[1 / 6, 2 / 3, 1 / 6], size=(200_000, d)))
    pairs = [(torch.eye(d)[0], torch.ones(d)), *torch.from_numpy(rng.standard_normal((3, 2, d)))]
    for w, w_star in pairs:
        assert spherical_push(w.double(), w_star.double(), x).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("theta", [0.0, 0.3, math.pi / 2, 2.5, math.pi - 2e-3, math.pi - 5e-4])
def test_the_spread_of_the_push_by_quadrature(theta):
    """E‖g‖² for ‖g‖ = ‖w*‖ cos φ where both nodes are active, from φ = θ − π/2 to π/2."""
    w, w_star = torch.tensor([math.cos(theta), math.sin(theta)]).double(), torch.tensor([3.0, 0.0]).double()
    slow = quad(lambda phi: (3 * math.cos(phi)) ** 2 / (2 * math.pi), theta - math.pi / 2, math.pi / 2)[0]
    largest = 3 * max(math.cos(phi) for phi in np.linspace(theta - math.pi / 2, math.pi / 2, 10_001))
    assert _spread(w, w_star) == pytest.approx((slow, largest), rel=1e-6)


@pytest.mark.parametrize("n", [2, 20, 50, 200, 1000])
@pytest.mark.parametrize("apart", [None, 1e-1, 1e-3, 1e-8])
def test_few_points_show_nothing(n, apart):
    """Nearly opposite nodes are active together in a small wedge, which may contain none of the points."""
    for seed in range(12):
        w, w_star, x = sample(d=2 + seed % 3, n=n, seed=seed)
        x = x * torch.linspace(0.1, 3, n, dtype=torch.float64)[:, None] if seed % 2 else x  # spherical as well
        w_star = w_star if apart is None else apart * w_star - w
        finding = spherical_push(w, w_star, x)
        assert all(check.holds for check in finding.conditions) and finding.verdict is Verdict.INCONCLUSIVE


def test_bernsteins_bound_is_exceeded_less_often_than_it_says():
    """Numbers that are 1 with probability p: their mean exceeds a bound of level 1/100 in less than 1/100 of cases."""
    rng, p, n = np.random.default_rng(0), 0.002, 500
    means = rng.binomial(n, p, 100_000) / n
    bound = bernstein(p * (1 - p), 1.0, n, level=0.01)
    by_spread = 2.6 * math.sqrt(p * (1 - p) / n)  # 99% of normal numbers
    assert (np.abs(means - p) > bound).mean() < 0.01 < (np.abs(means - p) > by_spread).mean()


def test_variances_of_the_moments_by_sampling():
    """z-scores of many small samples have the variance 1 that the known variances give them."""
    rng, d, n = np.random.default_rng(0), 4, 50
    w, w_star = torch.from_numpy(rng.standard_normal((2, d)))
    z = []
    for _ in range(400):
        x = torch.from_numpy(rng.standard_normal((n, d)))
        plane = torch.linalg.qr(torch.stack([w, w_star], 1)).Q
        checks = (*sphericity(x, w, w_star), uniform_angles(x @ plane, x.square().sum(1), d))
        z.append([check.measured for check in checks])
    expected = [_largest_of(k) for k in (4, 4, 6)]
    assert np.mean(z, 0)[:3] == pytest.approx(expected, rel=0.12)
    assert 1.2 < np.mean(z, 0)[3] < _largest_of(6) and 1.8 < np.mean(z, 0)[4] < 2.6


def _largest_of(count):
    """The mean of the largest |z| of several independent normal numbers."""
    return np.abs(np.random.default_rng(1).standard_normal((20_000, count))).max(1).mean()


def test_several_nodes_share_the_probability_of_an_error():
    assert bernstein(1.0, 0.0, 100, level=LEVEL / 50) > bernstein(1.0, 0.0, 100, level=LEVEL)
