"""The flow is compared with its limit, with the flow of the factors, and with many explicit steps."""

import numpy as np
import pytest
import torch

from relulab.core.errors import UserError
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.flow.radau import RELATIVE
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.instruments.deep_limit import deep_limit
from relulab.subjects.distillation.tools.balanced_start import balanced_start, imbalance, product
from relulab.subjects.distillation.tools.distillation_loss import loss


def case(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((n, d))), torch.from_numpy(rng.standard_normal(d))


def begun(X, w_star, depth, norm, widths=3):
    return balanced_start(X, w_star, np.random.default_rng(100 + depth), depth=depth, norm=norm, widths=widths)


def factors_at_end(path):
    """W_1, …, W_L of the last snapshot."""
    return [matrices[-1] for name, matrices in path.states.items() if name.startswith("W_")]


@pytest.mark.parametrize(("n", "depth"), [(3, 1), (6, 1), (9, 1), (3, 2), (9, 3), (6, 5)])
def test_the_end_is_the_exact_limit(n, depth):
    X, w_star = case(n, 6, seed=depth)
    start = None if depth == 1 else begun(X, w_star, depth, 1e-4)
    path = distillation_flow(X, w_star, start, looks=30)
    limit = distilled(X, w_star).w if depth == 1 else deep_limit(X, w_star, product(start), depth).w
    assert path.reached and float((path.end - limit).norm()) < 1e-6
    assert path.times[0] == 0 and len(path) == 30 and (path.times.diff() > 0).all()
    assert path["loss"].diff().max() < 1e-10 * path["loss"][0] and path["loss"][-1] < 1e-12 * path["loss"][0]
    torch.testing.assert_close(path["loss"][:-3], loss(X, w_star, path["w"])[:-3], rtol=1e-6, atol=1e-13)


def runge_kutta(f, y, h, steps):
    """The classical Runge–Kutta method with a fixed step."""
    for _ in range(steps):
        a = f(y)
        b = f(y + h / 2 * a)
        c = f(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + f(y + h * c))
    return y


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_product_and_factors_against_explicit_steps(depth):
    """Both flows at one time that is far from the end, against the definition 5.3 by autograd."""
    X, w_star = case(3, 4, seed=7)
    start = begun(X, w_star, depth, 0.05, widths=2)
    shapes = [W.shape for W in start]
    sizes = [W.numel() for W in start]

    def matrices(flat):
        return [part.reshape(shape) for part, shape in zip(flat.split(sizes), shapes, strict=True)]

    def minus_gradient(flat):
        with torch.enable_grad():
            flat = flat.clone().requires_grad_()
            y, u = torch.sigmoid(X @ w_star), X @ product(matrices(flat))
            entropy = torch.nn.functional.binary_cross_entropy_with_logits(u, y)
            return -torch.autograd.grad(entropy, flat)[0]

    T = 12.0
    end = matrices(runge_kutta(minus_gradient, torch.cat([W.flatten() for W in start]), T / 150, 150))
    by_product = distillation_flow(X, w_star, start, until=T)
    by_factors = distillation_flow(X, w_star, start, until=T, by="factors")
    for path in (by_product, by_factors):
        assert path.times[-1].item() == pytest.approx(T) and not path.reached and "time limit 12" in path.says
        torch.testing.assert_close(path.end, product(end), rtol=0, atol=1e-6)
    for a, b in zip(factors_at_end(by_factors), end, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)
    assert float((product(end) - product(start)).norm()) > 0.1  # it has moved


def test_orthogonal_part_follows_d32_all_the_way():
    X, w_star = case(2, 5)
    path = distillation_flow(X, w_star, begun(X, w_star, 4, 1e-8))
    size = path["w"].square().sum(1)
    gaps = (path["q"] / path["q"][0]).log() - 3 / 4 * (size / size[0]).log()
    assert 0 < gaps.abs().max() < 1e3 * RELATIVE


def test_unbalanced_factors_need_the_flow_of_the_factors():
    X, w_star = case(3, 4)
    W = begun(X, w_star, 2, 0.1)
    W = [2 * W[0], W[1] / 2]
    with pytest.raises(UserError, match="not balanced"):
        distillation_flow(X, w_star, W)
    path = distillation_flow(X, w_star, W, by="factors")
    assert path.reached and float((X @ (path.end - w_star)).norm()) < 1e-6
    # W_2ᵀW_2 − W_1W_1ᵀ never changes, so the limit differs from the balanced one
    was, now = (b.T @ b - a @ a.T for a, b in (W, factors_at_end(path)))
    torch.testing.assert_close(now, was, rtol=0, atol=1e-7)
    assert float((path.end - deep_limit(X, w_star, product(W), 2).w).norm()) > 1e-3
    assert imbalance(factors_at_end(path)) > 1e-3
    for w, *matrices in zip(path["w"], path["W_1"], path["W_2"], strict=True):
        torch.testing.assert_close(product(matrices), w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("depth", [1, 3])
def test_points_of_low_rank_and_bad_condition(depth):
    X, w_star = case(4, 6, seed=2)
    low = torch.cat([X[:2], X[:2].sum(0, keepdim=True), -X[1:2]])
    bad = X * torch.logspace(0, -3, 4, dtype=torch.float64)[:, None]
    for points in (low, bad):
        start = torch.zeros(6).double() if depth == 1 else product(begun(points, w_star, depth, 1e-5))
        path = distillation_flow(points, w_star, start, depth=depth)
        assert path.reached and float((path.end - deep_limit(points, w_star, start, depth).w).norm()) < 1e-6


def test_a_start_on_the_wrong_side_passes_near_zero_and_converges():
    X, w_star = case(8, 3)
    path = distillation_flow(X, w_star, -0.5 * w_star, depth=2)
    lengths = path["w"].norm(dim=1)
    assert path.reached and float((path.end - w_star).norm()) < 1e-6 and lengths.min() < 0.5 * lengths[0]


def test_in_one_dimension_the_flow_stops_at_zero():
    path = distillation_flow([[1.0]], [1.0], [-0.5], depth=2)
    assert not path.reached and "w = 0" in path.says


def test_a_start_at_the_limit_stays_there():
    X, w_star = case(5, 3)
    path = distillation_flow(X, w_star, w_star, depth=3)
    assert path.reached and len(path) == 1 and path.distance < 1e-15 and path["q"][0] == 0
    torch.testing.assert_close(path.end, w_star)


def test_a_start_in_the_span_stays_in_it():
    X, w_star = case(3, 6)
    path = distillation_flow(X, w_star, 1e-3 * X[0] * (X[0] @ w_star).sign(), depth=3)
    assert path.reached and not path["q"].any() and float((path.end - distilled(X, w_star).w).norm()) < 1e-6


def test_too_few_steps_are_reported():
    path = distillation_flow(*case(4, 4), steps=5)
    assert not path.reached and "step limit" in path.says and path.distance > 0.01


def test_wrong_arguments_raise_clear_errors():
    X, w_star = case(3, 4)
    for options, message in (
        ({"depth": 2}, "needs a start"),
        ({"start": np.zeros(4), "depth": 2}, "never leaves"),
        ({"start": np.ones(5)}, "give 4 weights"),
        ({"start": [np.ones((2, 4)), np.ones((1, 2))], "depth": 3}, "leave out depth"),
        ({"start": np.ones(4), "by": "factors"}, "list of factor"),
        ({"looks": 1}, "looks"),
    ):
        with pytest.raises(UserError, match=message):
            distillation_flow(X, w_star, **options)
