"""The allowance for starts that are not balanced: the exact limit for balanced ones, and a plain solution of G."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

from relulab.subjects.distillation.instruments.deep_limit import deep_limit
from relulab.subjects.distillation.tools.balance_allowance import balance_allowance
from relulab.subjects.distillation.tools.balanced_start import balanced_start, product


def case(depth, seed=0, scale=0.3):
    rng = np.random.default_rng(seed)
    X, w_star = rng.standard_normal((3, 6)), rng.standard_normal(6)
    shapes = [(4, 6), *[(4, 4)] * (depth - 2), (1, 4)]
    return X, w_star, [torch.from_numpy(scale * rng.standard_normal(shape)) for shape in shapes]


def naive(X, w_star, W):
    """The equation for G as it is written, with projections by the pseudo-inverse."""
    W = [matrix.numpy() for matrix in W]
    P = np.linalg.pinv(X) @ X
    norm, F = np.linalg.norm(P @ w_star), np.linalg.norm(W[0] - W[0] @ P, 2)
    xi = [max(0, np.linalg.eigvalsh(b.T @ b - a @ a.T).max()) for a, b in pairwise(W)]
    sums = [sum(xi[:l]) for l in range(1, len(W))]
    G = brentq(lambda G: G - np.prod([norm**2 / G + F**2 + s for s in sums]), 1e-9, 1e9, xtol=1e-14, rtol=1e-14)
    return F * np.sqrt(G)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_it_solves_the_equation(depth):
    for seed in range(3):
        X, w_star, W = case(depth, seed)
        assert balance_allowance(X, w_star, W) == pytest.approx(naive(X, w_star, W), rel=1e-9)


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("scale", [1e-80, 1.0, 1e80])
def test_for_balanced_starts_it_is_the_exact_limit_at_any_scale(depth, scale):
    X, w_star, _ = case(2)
    X, w_star = X / scale, w_star * scale
    W = balanced_start(X, w_star, 7, depth=depth, norm=0.05 * scale, widths=3)
    exact = deep_limit(X, w_star, product(W), depth).orthogonal.item()
    assert balance_allowance(X, w_star, W) == pytest.approx(exact, rel=1e-7)


def test_a_longer_first_layer_is_allowed_more():
    X, w_star, W = case(2)
    allowed = [balance_allowance(X, w_star, [W[0] * k, W[1] / k]) for k in (1.0, 3.0, 10.0)]
    assert allowed[0] < allowed[1] < allowed[2]


def test_one_layer_keeps_its_part_outside_the_span():
    assert balance_allowance([[1.0, 0.0]], [1.0, 1.0], [[[5.0, 0.3]]]) == pytest.approx(0.3)
