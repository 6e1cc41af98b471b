"""S0.T6: the closed form by quadrature, and verdicts on samples."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from relulab import Gaussian, UserError, Verdict
from relulab.subjects.specialization import spherical_push
from relulab.subjects.specialization.theorems.spherical_push import closed_form


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
