"""The constants of the sublevel set, against a plain search over logits and random points of the set."""

import numpy as np
import pytest
import torch
from scipy.special import expit

from relulab.subjects.distillation.tools.distillation_loss import gradient, hessian, loss
from relulab.subjects.distillation.tools.sublevel_convexity import farthest, sublevel_convexity


def case(n, size=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((n, 5))), torch.from_numpy(size * rng.standard_normal(5))


def point_loss(z, u):
    y = 1 / (1 + np.exp(-z))
    least = -y * np.log(y) - (1 - y) * np.log(1 - y)
    return np.logaddexp(0, u) - y * u - least


@pytest.mark.parametrize("z", [-3.0, 0.0, 1.5])
def test_the_interval_of_logits(z):
    for side in (-1.0, 1.0):
        delta = farthest(torch.tensor([z], dtype=torch.float64), side, 0.7).item()
        assert np.sign(delta) == side
        assert point_loss(z, z + delta) == pytest.approx(0.7, abs=1e-6)


@pytest.mark.parametrize(("n", "size"), [(3, 0.5), (9, 0.5), (3, 1.0)])
def test_a_search_over_all_logits_finds_the_same_constants(n, size):
    X, w_star = case(n, size)
    level = float(loss(X, w_star, 0 * w_star))
    omegas = np.zeros((3, n))
    for i, z in enumerate((X @ w_star).tolist()):
        ends = [farthest(torch.tensor([z], dtype=torch.float64), side, n * level).item() for side in (-1.0, 1.0)]
        delta = np.concatenate([np.linspace(end, end * 1e-3, 4000) for end in ends])
        s, y = expit(z + delta), expit(z)
        values = s * (1 - s), (s - y) / delta, 2 * point_loss(z, z + delta) / delta**2
        omegas[:, i] = [v.min() for v in values]
    found = sublevel_convexity(X, w_star, level)
    for mu, omega in zip(found, omegas, strict=True):
        spectrum = np.linalg.eigvalsh((X.T * torch.from_numpy(omega)) @ X / n)
        smallest = spectrum[-min(n, 5)]
        assert mu == pytest.approx(smallest, rel=5e-3)


def test_the_inequalities_hold_at_random_points_of_the_set():
    X, w_star = case(3)
    V = torch.linalg.qr(X.T).Q
    w_hat = V @ (V.T @ w_star)
    level = float(loss(X, w_star, 0 * w_star))
    mu = sublevel_convexity(X, w_star, level)
    rng, inside = np.random.default_rng(1), 0
    for _ in range(300):
        w = w_hat + V @ torch.from_numpy(rng.standard_normal(3) * rng.uniform(0, 4))
        value, far = float(loss(X, w_star, w)), float((w - w_hat).norm())
        if value > level or far < 1e-3:
            continue
        inside += 1
        curved = V.T @ hessian(X, w) @ V
        assert torch.linalg.eigvalsh(curved)[0] >= mu.curvature * (1 - 1e-9)
        assert gradient(X, w_star, w).norm() >= mu.slope * far * (1 - 1e-9)
        assert value >= mu.growth / 2 * far**2 * (1 - 1e-9)
    assert inside > 50
