"""Other learners, and the monotonicity index."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from relulab import UserError
from relulab.subjects.distillation import (
    angle,
    distilled,
    hard_target,
    monotonicity,
    nested_students,
    signed_angle,
    unbiased,
)
from relulab.subjects.distillation.tools.learners import complement, pushed
from relulab.subjects.distillation.tools.logistic import logistic_regression


@pytest.mark.parametrize("n, d", [(3, 6), (6, 3), (4, 4)])
def test_the_hard_target_is_the_shortest_vector_with_margins_of_one(n, d):
    rng = np.random.default_rng(n)
    X, w_star = rng.standard_normal((2, n, d)), rng.standard_normal(d)
    students = hard_target(X, w_star)
    for i in range(2):
        Z = X[i] * np.sign(X[i] @ w_star)[:, None]
        constraint = {"type": "ineq", "fun": lambda w, Z=Z: Z @ w - 1, "jac": lambda w, Z=Z: Z}
        start = w_star / (Z @ w_star).min()
        naive = minimize(lambda w: w @ w / 2, start, jac=lambda w: w, method="SLSQP", constraints=[constraint],
                         options={"maxiter": 500, "ftol": 1e-14})  # fmt: skip
        np.testing.assert_allclose(students[i], naive.x, rtol=1e-5, atol=1e-6)


def test_all_minimizers_fit_the_labels_and_are_as_long_as_they_should_be():
    rng = np.random.default_rng(0)
    X, w_star = rng.standard_normal((5, 4, 9)), rng.standard_normal(9)
    w = unbiased(X, w_star, [0.0, 0.5, 3.0], rng)
    best = distilled(X, w_star).w
    np.testing.assert_allclose(w[0], best, atol=1e-12)
    for delta, one in zip((0.0, 0.5, 3.0), w, strict=True):
        fit = (torch.from_numpy(X) @ one[..., None])[..., 0]
        np.testing.assert_allclose(fit, X @ w_star, atol=1e-10)
        np.testing.assert_allclose((one - best).norm(dim=-1), delta * best.norm(dim=-1), atol=1e-10)
    full = rng.standard_normal((9, 9))
    np.testing.assert_allclose(unbiased(full, w_star, 2.0, rng)[0], w_star, atol=1e-8)
    with pytest.raises(UserError, match="finite numbers"):
        unbiased(full, w_star, float("inf"), rng)


def test_random_parts_are_uniform_in_the_complement():
    rng = np.random.default_rng(1)
    nested = nested_students(np.tile(np.eye(3, 6), (4000, 1, 1)), np.ones(6))
    q = complement(nested, [1, 3], torch.from_numpy(rng.standard_normal((4000, 1, 6))))
    assert q[:, 0, :1].abs().max() < 1e-12 and q[:, 1, :3].abs().max() < 1e-12
    for part, size in ((q[:, 0, 1:], 5), (q[:, 1, 3:], 3)):
        assert part.mean(0).abs().max() < 4 / np.sqrt(size * 4000)
        np.testing.assert_allclose(part.norm(dim=-1), 1, atol=1e-12)


def test_pushed_students_are_off_by_epsilon_and_farther_from_the_teacher():
    rng = np.random.default_rng(2)
    nested = nested_students(rng.standard_normal((6, 3, 8)), rng.standard_normal(8))
    w = nested.students()[:, [0, 2]]
    off = pushed(0.2)(nested, [1, 3], rng)
    np.testing.assert_allclose((off - w).norm(dim=-1), 0.2 * w.norm(dim=-1), atol=1e-12)
    turned = signed_angle(off, nested.w_star) - signed_angle(w, nested.w_star)
    np.testing.assert_allclose(turned, np.arcsin(0.2), atol=1e-9)
    whole = nested_students(np.eye(3), [1.0, 0.0, 0.0])  # the teacher itself is turned too
    assert float(angle(pushed(0.5)(whole, [1], rng), whole.w_star)) == pytest.approx(np.arcsin(0.5))


def test_the_index_counts_the_sets_that_gain():
    rng = np.random.default_rng(3)
    (before, after), w_star = torch.from_numpy(rng.standard_normal((2, 40, 5))), torch.ones(5).double()
    gains = 0
    for u, v in zip(before, after, strict=True):
        cos = [abs(float(x @ w_star)) / float(x.norm() * w_star.norm()) for x in (u, v)]
        gains += cos[1] > cos[0]
    assert float(monotonicity(before, after, w_star)) == gains / 40


def test_the_regression_is_at_a_minimum():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((50, 4)), rng.random(50) < 0.5
    w, signs = logistic_regression(X, y, penalty=0.3), np.where(y, 1, -1)

    def loss(w):
        return np.log1p(np.exp(-signs * (X @ w))).sum() + 0.15 * w @ w

    steps = np.eye(4) * 1e-4
    slopes = [(loss(w + step) - loss(w - step)) / 2e-4 for step in steps]
    assert np.abs(slopes).max() < 1e-3 and all(loss(w + 100 * step) > loss(w) for step in (*steps, *-steps))
    with pytest.raises(UserError, match="penalty = 0"):
        logistic_regression(X, y, penalty=0)
