"""The limit of deep students satisfies its equation and the bound."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab.core.errors import UserError
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.instruments.deep_limit import deep_limit


def case(seed, n, d, size):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(d), size * rng.standard_normal(d)


@given(st.integers(0, 50), st.integers(1, 7), st.integers(1, 6), st.floats(-12, 1))
@settings(deadline=None, max_examples=60)
def test_limit_solves_its_equation_and_obeys_the_bound(seed, n, L, power):
    X, w_star, w_0 = case(seed, n, 7, 10**power)
    limit = deep_limit(X, w_star, w_0, L)
    w_hat = distilled(X, w_star).w
    V = np.linalg.qr(X.T)[0]
    outside = w_0 - V @ (V.T @ w_0)
    q_0, q = (outside @ outside, float(limit.orthogonal) ** 2) if n < 7 else (0.0, 0.0)
    torch.testing.assert_close(limit.w.norm() ** 2, w_hat.norm() ** 2 + q, rtol=1e-9, atol=0.0)
    if n < 7:
        ratio = float(limit.w.norm()) / np.linalg.norm(w_0)
        assert q == pytest.approx(q_0 * ratio ** (2 * (L - 1) / L), rel=1e-9)  # D.32
        torch.testing.assert_close(limit.w - w_hat, torch.from_numpy(outside * (q / q_0) ** 0.5), rtol=1e-5, atol=1e-9)
    assert float(limit.orthogonal) <= float(limit.bound) * (1 + 1e-9)


def test_sets_together_equal_each_alone_and_one_layer_keeps_its_outside_part():
    cases = [case(seed, 3, 5, 1e-3) for seed in range(3)]
    X, w_0, w_star = np.stack([c[0] for c in cases]), np.stack([c[2] for c in cases]), cases[0][1]
    together = deep_limit(X, w_star, w_0, 3)
    for i in range(3):
        for a, b in zip(together, deep_limit(X[i], w_star, w_0[i], 3), strict=True):
            torch.testing.assert_close(a[i], b)
    one = deep_limit(X, w_star, w_0, 1)
    torch.testing.assert_close(torch.from_numpy(X) @ one.w[..., None], torch.from_numpy(X @ w_star[:, None]))
    torch.testing.assert_close(one.orthogonal, (one.w - distilled(X, w_star).w).norm(dim=-1))


def test_a_teacher_orthogonal_to_all_points():
    limit = deep_limit([[2.0, 0.0]], [0.0, 1.0], [0.3, 0.4], 2)
    assert limit.orthogonal.item() == pytest.approx(0.5 * 0.8**2) and limit.bound.item() == float("inf")


def test_wrong_arguments_raise_clear_errors():
    with pytest.raises(UserError, match="never moves"):
        deep_limit([[1.0, 0.0]], [1.0, 1.0], [0.0, 0.0], 2)
    with pytest.raises(UserError, match="the start has shape"):
        deep_limit([[1.0, 0.0]], [1.0, 1.0], [1.0], 2)
    with pytest.raises(UserError, match="depth is 3, but there are 2 factor matrices"):
        deep_limit([[1.0, 0.0]], [1.0, 1.0], [np.ones((2, 2)), np.ones((1, 2))], 3)
