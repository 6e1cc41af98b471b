"""Balanced starts, their length and sign, and the bound on their length and its inverse."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab.core.errors import UserError
from relulab.subjects.distillation.tools.balanced_start import (
    balanced_factors,
    balanced_start,
    distance_bound,
    factors,
    imbalance,
    largest_start,
    product,
)
from relulab.subjects.distillation.tools.distillation_loss import gain


def case(n=4, d=6):
    rng = np.random.default_rng(1)
    return torch.from_numpy(rng.standard_normal((n, d))), torch.from_numpy(rng.standard_normal(d))


@pytest.mark.parametrize(("depth", "widths"), [(1, 3), (2, 1), (3, (7, 2)), (5, 4)])
def test_a_start_is_balanced_as_long_as_asked_and_better_than_zero(depth, widths):
    X, w_star = case()
    for seed in range(8):
        W = balanced_start(X, w_star, np.random.default_rng(seed), depth=depth, norm=1e-7, widths=widths)
        assert float(product(W).norm()) == pytest.approx(1e-7, rel=1e-12) and float(gain(X, w_star, product(W))) < 0
        for below, above in pairwise(W):
            torch.testing.assert_close(above.T @ above, below @ below.T, rtol=1e-10, atol=1e-18)
        assert all(torch.linalg.matrix_rank(matrix) == 1 for matrix in W) and imbalance(W) < 1e-14


def test_imbalance_detects_a_longer_layer():
    X, w_star = case()
    W = balanced_start(X, w_star, np.random.default_rng(0), depth=3, norm=1e-3)
    assert imbalance([W[0], 1.01 * W[1], W[2]]) == pytest.approx(1 - 1.01**-2, rel=1e-9)


@given(st.floats(1e-4, 100), st.integers(1, 8), st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_bound_as_printed_and_its_inverse(epsilon, L, norm):
    printed = epsilon**L * (epsilon**2 * norm ** (-2 / L) + norm ** (2 - 2 / L)) ** (-L / 2)
    assert largest_start(epsilon, L, norm) == pytest.approx(min(norm, printed), rel=1e-9)
    if largest_start(epsilon, L, norm) < norm * (1 - 1e-9):
        assert float(distance_bound(printed, L, norm)) == pytest.approx(epsilon, rel=1e-5)
        d41 = norm ** (2 + 2 / L) / (norm ** (2 / L) - (printed / 2) ** (2 / L)) - norm**2
        assert float(distance_bound(printed / 2, L, norm)) ** 2 == pytest.approx(d41, rel=1e-6, abs=1e-9 * norm**2)


def test_bound_at_its_ends():
    assert distance_bound(2.0, 2, 1.0).item() == distance_bound(1.0, 2, 0.0).item() == float("inf")
    assert distance_bound(0.0, 2, 1.0).item() == 0


def test_wrong_arguments_raise_clear_errors():
    X, w_star = case()
    rng = np.random.default_rng(0)
    with pytest.raises(UserError, match="use a smaller norm"):
        balanced_start(X, w_star, rng, depth=2, norm=1e3)
    with pytest.raises(UserError, match="never moves"):
        balanced_start(X, w_star, rng, depth=2, norm=0.0)
    with pytest.raises(UserError, match="widths"):
        balanced_factors(w_star, rng, depth=3, widths=[4])
    with pytest.raises(UserError, match="got shapes"):
        factors([np.ones((3, 2)), np.ones((1, 4))])
