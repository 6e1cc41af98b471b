"""The loss of soft labels against its definition in many digits, its derivatives against differences."""

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab.subjects.distillation.tools.distillation_loss import (
    divergence,
    gain,
    gradient,
    hessian,
    log_cosh,
    loss,
    pull,
)

mpmath.mp.dps = 400


def number(x: float) -> torch.Tensor:
    return torch.tensor(x, dtype=torch.float64)


def sigma(u):
    return 1 / (1 + mpmath.exp(-u))


def exact(z: float, delta: float):
    y, p = sigma(mpmath.mpf(z)), sigma(mpmath.mpf(z) + mpmath.mpf(delta))
    return y * mpmath.log(y / p) + (1 - y) * mpmath.log((1 - y) / (1 - p)), p - y


@given(st.floats(-40, 40), st.floats(-600, 600), st.floats(-12, 0))
@settings(deadline=None, max_examples=60)
def test_every_digit_of_a_point_s_loss_and_pull(z, large, power):
    for delta in (large, large * 10**power):
        if abs(delta) < 1e-100:
            continue
        value, slope = exact(z, delta)
        assert abs(divergence(number(z), number(delta)).item() / value - 1) < 3e-15
        assert abs(pull(number(z), number(delta)).item() / slope - 1) < 2e-13  # σ at −640 has 640 roundings of its own


def test_at_the_label_nothing_is_lost_or_pulled():
    assert divergence(number(3.0), number(0.0)).item() == pull(number(3.0), number(0.0)).item() == 0


def case(n=7, d=4):
    rng = np.random.default_rng(0)
    return (torch.from_numpy(a) for a in (rng.standard_normal((n, d)), rng.standard_normal(d), rng.standard_normal(d)))


def test_loss_by_its_definition():
    X, w_star, w = case()
    y, p = torch.sigmoid(X @ w_star), torch.sigmoid(X @ w)
    naive = -(y * p.log() + (1 - y) * (1 - p).log()).mean() + (y * y.log() + (1 - y) * (1 - y).log()).mean()
    assert loss(X, w_star, w).item() == pytest.approx(naive.item(), rel=1e-12)


def test_gradient_and_curvature_by_differences():
    X, w_star, w = case()
    h, axes = 1e-5, torch.eye(4, dtype=torch.float64)
    slopes = [(loss(X, w_star, w + h * e) - loss(X, w_star, w - h * e)) / (2 * h) for e in axes]
    torch.testing.assert_close(gradient(X, w_star, w), torch.stack(slopes), rtol=0, atol=1e-9)
    rows = [(gradient(X, w_star, w + h * e) - gradient(X, w_star, w - h * e)) / (2 * h) for e in axes]
    torch.testing.assert_close(hessian(X, w), torch.stack(rows), rtol=0, atol=1e-9)


def test_many_students_at_once_are_each_alone():
    X, w_star, w = case()
    many = torch.stack([w, 2 * w, 0 * w])
    for f in (loss, gradient, gain):
        torch.testing.assert_close(f(X, w_star, many), torch.stack([f(X, w_star, one) for one in many]))


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0, 30.0])
def test_gain_over_zero_has_its_digits_at_any_size(size):
    X, w_star, w = case()
    w = w * size
    total = mpmath.mpf(0)
    for x in X.tolist():
        z, u = (mpmath.fdot(x, v.tolist()) for v in (w_star, w))
        total += (mpmath.mpf(1) / 2 - sigma(z)) * u + mpmath.log(mpmath.cosh(u / 2))
    assert gain(X, w_star, w).item() == pytest.approx(float(total / len(X)), rel=1e-13)
    if size == 1.0:
        assert gain(X, w_star, w).item() == pytest.approx((loss(X, w_star, w) - loss(X, w_star, 0 * w)).item())


@given(st.floats(-800, 800))
@settings(deadline=None, max_examples=40)
def test_log_cosh(v):
    assert log_cosh(number(v)).item() == pytest.approx(float(mpmath.log(mpmath.cosh(v))), rel=1e-14, abs=1e-320)
