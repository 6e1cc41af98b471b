"""Gradient descent follows the flow, ends at the same limit, and rejects a step that is too long."""

import numpy as np
import pytest
import torch

from relulab.core.errors import UserError
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.tools.balanced_start import balanced_start, product
from relulab.subjects.distillation.tools.descent import distillation_descent, largest_step


def case(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((n, d))), torch.from_numpy(rng.standard_normal(d))


def test_first_steps_by_autograd():
    X, w_star = case(5, 4)
    start = balanced_start(X, w_star, np.random.default_rng(9), depth=3, norm=0.1, widths=(3, 2))
    path = distillation_descent(X, w_star, start, step=0.05, steps=7)
    W = [matrix.clone().requires_grad_() for matrix in start]
    for _ in range(7):
        u = X @ product(W)
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(u, torch.sigmoid(X @ w_star))
        grads = torch.autograd.grad(entropy, W)
        W = [(a - 0.05 * g).detach().requires_grad_() for a, g in zip(W, grads, strict=True)]
    for a, b in zip((path[f"W_{l}"][-1] for l in (1, 2, 3)), W, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-12, atol=1e-14)
    assert path.times[-1].item() == pytest.approx(0.35) and not path.reached and path.steps == 7


@pytest.mark.parametrize("n", [3, 8])
def test_one_layer_ends_at_the_projection(n):
    X, w_star = case(n, 5, seed=3)
    path = distillation_descent(X, w_star, steps=5000)
    assert path.reached and float((path.end - distilled(X, w_star).w).norm()) < 1e-5
    assert (path["loss"].diff() <= 0).all() and path["q"].max() < 1e-25


def test_small_steps_are_the_flow():
    X, w_star = case(3, 5)
    start = balanced_start(X, w_star, np.random.default_rng(9), depth=2, norm=0.1)
    coarse, fine = (distillation_descent(X, w_star, start, step=h, steps=round(20 / h)).end for h in (0.1, 0.05))
    flow = distillation_flow(X, w_star, start, until=20.0).end
    first, second = (float((w - flow).norm()) for w in (coarse, fine))
    assert first < 0.02 and 1.8 < first / second < 2.2  # Euler's method is of order one


@pytest.mark.parametrize("depth", [1, 3])
def test_the_default_step_descends_and_a_long_step_is_rejected(depth):
    X, w_star = case(12, 4)
    start = balanced_start(X, w_star, np.random.default_rng(9), depth=depth, norm=0.1)
    path = distillation_descent(X, w_star, start, steps=800)
    assert (path["loss"].diff() <= 0).all() and path["loss"][-1] < 1e-2 * path["loss"][0]
    step = largest_step(X, w_star, start)
    with pytest.raises(UserError, match="does not converge"):
        distillation_descent(X, w_star, start, step=1000 * step, steps=500)


def test_a_step_slightly_too_long_oscillates():
    X, w_star = case(12, 4)
    with pytest.raises(UserError, match="use a smaller step"):
        distillation_descent(X, w_star, step=6 * largest_step(X, w_star, [w_star[None]]), steps=300)


def test_wrong_arguments_raise_clear_errors():
    X, w_star = case(3, 4)
    with pytest.raises(UserError, match="all points are zero"):
        distillation_descent(0 * X, w_star)
    with pytest.raises(UserError, match="positive"):
        distillation_descent(X, w_star, step=-1.0)
