"""Overlaps of two nodes: against integrals of one variable, Owen's T function, closed forms and derivatives."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate
from scipy.special import ndtr, owens_t

from relulab.subjects.specialization.tools.pair_overlap import ACCURACY, pair_overlap, slope_bound

rng = np.random.default_rng(0)
CASES = [
    *((h, h + shift, theta) for h in (-5.0, -2.0, 0.3) for shift in (0.0, 0.5) for theta in (0.4, 1.5, 2.7)),
    *zip(rng.normal(size=12), 2 * rng.normal(size=12), rng.uniform(0.2, 3, 12), strict=True),
]  # fmt: skip


def numbers(*values: float) -> list[torch.Tensor]:
    return [torch.tensor(value, dtype=torch.float64) for value in values]


def naive(h: float, k: float, theta: float) -> tuple[float, float]:
    """Integrate over u; the other node is active, or its mean activation, given u in closed form."""
    c, s = math.cos(theta), math.sin(theta)

    def density(u):
        return math.exp(-u * u / 2) / math.sqrt(2 * math.pi)

    def mean(z):
        return s * (z * ndtr(z) + density(z))

    options = {"epsabs": 0, "epsrel": 1e-12, "limit": 500}
    edges = np.linspace(-h, max(12.0, 10 - h), 9)
    both = sum(integrate.quad(lambda u: density(u) * ndtr((k + c * u) / s), a, b, **options)[0]
               for a, b in pairwise(edges))  # fmt: skip
    product = sum(integrate.quad(lambda u: density(u) * (h + u) * mean((k + c * u) / s), a, b, **options)[0]
                  for a, b in pairwise(edges))  # fmt: skip
    return both, product


@pytest.mark.parametrize(("h", "k", "theta"), CASES)
def test_both_overlaps_are_the_integrals_to_ten_digits(h, k, theta):
    for value, expected in zip(pair_overlap(*numbers(h, k, theta)), naive(h, k, theta), strict=True):
        assert value.item() == pytest.approx(expected, rel=ACCURACY)


def test_how_often_both_are_active_by_owens_t():
    h, k, theta = rng.normal(size=200) - 1, rng.normal(size=200), rng.uniform(0.05, 3.1, 200)
    c, s = np.cos(theta), np.sin(theta)
    opposite = np.where((h * k < 0) | ((h * k == 0) & (h + k < 0)), 0.5, 0.0)
    first, second = owens_t(h, (k - c * h) / (h * s)), owens_t(k, (h - c * k) / (k * s))
    expected = (ndtr(h) + ndtr(k)) / 2 - first - second - opposite
    D = pair_overlap(*map(torch.from_numpy, (h, k, theta))).D.numpy()
    np.testing.assert_allclose(D, expected, rtol=0, atol=1e-14)


def test_without_biases_they_are_the_arc_cosine_kernels_of_orders_0_and_1():
    theta = torch.linspace(0, math.pi, 50, dtype=torch.float64)
    D, L = pair_overlap(*numbers(0.0, 0.0), theta)
    torch.testing.assert_close(D, (math.pi - theta) / (2 * math.pi))
    torch.testing.assert_close(L, (theta.sin() + (math.pi - theta) * theta.cos()) / (2 * math.pi))
    tiny = pair_overlap(*numbers(1e-9, 0.0), theta)  # by quadrature
    torch.testing.assert_close(tiny.D, D, rtol=0, atol=1e-9)
    torch.testing.assert_close(tiny.L, L, rtol=0, atol=1e-9)


def test_nearly_opposite_nodes_without_biases_keep_their_digits():
    rest = torch.tensor([1e-1, 1e-3, 1e-6], dtype=torch.float64)
    L = pair_overlap(*numbers(0.0, 0.0), math.pi - rest).L
    torch.testing.assert_close(L, rest**3 / (6 * math.pi) * (1 - rest**2 / 10), rtol=1e-5, atol=0)


def test_a_node_with_itself_and_with_its_opposite():
    b = torch.tensor([-6.0, -3.0, 0.0, 2.0], dtype=torch.float64)
    D, L = pair_overlap(b, b, torch.zeros_like(b))
    density = (-b.square() / 2).exp() / math.sqrt(2 * math.pi)
    torch.testing.assert_close(D, torch.erfc(-b / math.sqrt(2)) / 2, rtol=1e-11, atol=0)
    torch.testing.assert_close(L, (1 + b.square()) * torch.erfc(-b / math.sqrt(2)) / 2 + b * density, rtol=1e-9, atol=0)
    D, L = pair_overlap(b, b, torch.full_like(b, math.pi))
    assert D[:3].max() < 1e-15 and L[:3].max() < 1e-15
    assert D[3].item() == pytest.approx(2 * ndtr(2.0) - 1) and L[3] > 0


def test_orthogonal_nodes_are_independent_also_if_they_are_hardly_ever_active():
    h, k = numbers(-7.0, -5.0)
    D, _ = pair_overlap(h, k, torch.tensor(math.pi / 2, dtype=torch.float64))
    assert D.item() == pytest.approx(ndtr(-7.0) * ndtr(-5.0), rel=ACCURACY)


def test_slopes_are_those_of_differences_and_the_bound_is_above_them():
    h, k = torch.from_numpy(rng.normal(size=(2, 30)) - 0.5)
    theta, step = torch.from_numpy(rng.uniform(0.3, 2.8, 30)), 1e-4
    (D_1, L_1), (D_0, L_0) = (pair_overlap(h, k, theta + sign * step) for sign in (1, -1))
    torch.testing.assert_close((D_0 - D_1) / (2 * step), slope_bound(h, k, theta, theta), rtol=1e-5, atol=1e-9)
    slope_l = theta.sin() * pair_overlap(h, k, theta).D
    torch.testing.assert_close((L_0 - L_1) / (2 * step), slope_l, rtol=1e-5, atol=1e-9)
    within = theta[:, None] + 0.2 * torch.linspace(-1, 1, 21, dtype=torch.float64)
    slopes = slope_bound(h[:, None], k[:, None], within, within)
    bound = slope_bound(h, k, theta - 0.2, theta + 0.2)
    assert (slopes.amax(1) <= bound).all() and (bound < 20 * slopes.amax(1)).all()


def test_many_pairs_at_once_equal_pairs_alone():
    h, k, theta = torch.randn(2, 3).double(), torch.randn(2, 1).double(), torch.rand(3).double()
    D, L = pair_overlap(h, k, theta)
    for i in range(2):
        for j in range(3):
            alone = pair_overlap(h[i, j], k[i, 0], theta[j])
            assert pytest.approx(D[i, j].item(), rel=1e-13) == alone.D
            assert pytest.approx(L[i, j].item(), rel=1e-13) == alone.L
