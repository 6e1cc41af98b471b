"""Angle distributions and points drawn from them."""

import math

import numpy as np
import pytest

from relulab import UserError
from relulab.subjects.distillation import Angular, PolynomialAngles, SphereAngles

LAWS = [
    PolynomialAngles(0.3), PolynomialAngles(1), PolynomialAngles(2.5), PolynomialAngles(1, 1.1),
    SphereAngles(2), SphereAngles(7), SphereAngles(300),
]  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_quantiles_invert_p_and_p_falls_from_one(law):
    u = np.linspace(0.001, 1, 50)
    np.testing.assert_allclose(law.p(law.quantile(u)), u, atol=1e-9)
    theta = np.linspace(0, math.pi / 2, 200)
    assert law.p(0.0) == 1 and (np.diff(law.p(theta)) <= 1e-15).all() and law.p(math.pi / 2) < 1e-12


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_drawn_points_are_at_angles_of_the_law_to_the_first_axis(law):
    N, d = 4000, law.d if isinstance(law, SphereAngles) else 5
    x = Angular(d, law).draw(np.random.default_rng(1), N)
    a = np.sort(np.arccos(np.abs(x[:, 0]) / np.linalg.norm(x, axis=1)))
    gap = np.abs(law.p(a) - (1 - np.arange(N) / N)).max()
    assert gap < math.sqrt(math.log(2e4) / (2 * N))  # Dvoretzky, Kiefer and Wolfowitz at 1 - 1e-4
    assert abs((x[:, 0] > 0).mean() - 0.5) < 4 * 0.5 / math.sqrt(N)


def test_gaussian_points_have_the_angles_of_the_sphere():
    N = 4000
    x = np.random.default_rng(2).standard_normal((N, 6))
    w = np.arange(1.0, 7)
    a = np.sort(np.arccos(np.abs(x @ w) / np.linalg.norm(x, axis=1) / np.linalg.norm(w)))
    assert np.abs(SphereAngles(6).p(a) - (1 - np.arange(N) / N)).max() < math.sqrt(math.log(2e4) / (2 * N))
    assert np.abs(SphereAngles(12).p(a) - (1 - np.arange(N) / N)).max() > 0.1


def test_the_rest_of_a_point_has_no_preferred_direction_and_its_length_is_gaussian():
    N = 20_000
    x = Angular(4, PolynomialAngles(1)).draw(np.random.default_rng(3), N)
    rest = x[:, 1:] / np.linalg.norm(x[:, 1:], axis=1, keepdims=True)
    assert np.abs(rest.mean(0)).max() < 4 / math.sqrt(3 * N)
    assert np.abs(rest.T @ rest / N - np.eye(3) / 3).max() < 4 * 0.3 / math.sqrt(N)
    size = (x**2).sum(1)
    assert abs(size.mean() - 1) < 4 * math.sqrt(2 / N)


@pytest.mark.parametrize("make, message", [
    (lambda: PolynomialAngles(0), "kappa = 0"),
    (lambda: PolynomialAngles(float("nan")), "kappa = nan|kappa to be a number, got nan"),
    (lambda: PolynomialAngles(1, 2.0), "widest = 2.0"),
    (lambda: SphereAngles(1), "d = 1"),
    (lambda: Angular(1, PolynomialAngles()), "d = 1"),
])  # fmt: skip
def test_impossible_laws_are_rejected(make, message):
    with pytest.raises(UserError, match=message):
        make()
