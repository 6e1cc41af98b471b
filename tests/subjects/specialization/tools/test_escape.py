"""The escape of a student from the direction opposite to its teacher: closed forms, and gradient descent on points."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from relulab import UserError
from relulab.subjects.specialization.tools.escape import FLOWS, escape_time, gradient


def at_angle(theta: float, norm: float, d: int = 6, seed: int = 0, star: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A student at an angle with its teacher in a random plane."""
    plane = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, 2)))[0].T
    return norm * (math.cos(theta) * plane[0] + math.sin(theta) * plane[1]), star * plane[0]


@pytest.mark.parametrize("epsilon, norm, star", [(0.3, 1.0, 1.0), (1e-2, 0.5, 2.0), (1e-4, 3.0, 0.7)])
@pytest.mark.parametrize("theta_0", [math.pi / 2, 1.0])
def test_times_equal_closed_forms(epsilon, norm, star, theta_0):
    """‖w‖ (sin φ)/φ falls as e^(−t/2) under gradient flow; the other two are integrals of dφ/(φ sin φ)."""
    w, w_star = at_angle(math.pi - epsilon, norm, star=star)
    turned = 1 / math.tan(epsilon) - 1 / math.tan(math.pi - theta_0)
    logarithm = 2 * math.log(1 + math.pi * norm / star * math.sin(epsilon) / epsilon * turned)
    # 1/φ² is taken out, or the quadrature would not see the peak.
    rest = quad(lambda phi: 1 / (phi * math.sin(phi)) - 1 / phi**2, epsilon, math.pi - theta_0)[0]
    power = 2 * math.pi / star * (1 / epsilon - 1 / (math.pi - theta_0) + rest)
    expected = {"gradient": logarithm, "printed": power, "fixed norm": norm * power}
    for kind in FLOWS:
        assert escape_time(kind, w, w_star, theta_0) == pytest.approx(expected[kind], rel=1e-6), kind


def descent(x: torch.Tensor, w: np.ndarray, w_star: np.ndarray, rate: float) -> float:
    """The time until π/2 by gradient descent on ½(f* − f)² at the points, by autograd, as a user would write it."""
    star, w, t = torch.from_numpy(w_star), torch.from_numpy(w).requires_grad_(), 0.0
    f_star, before = torch.relu(x @ star), float("-inf")
    while t < 100:
        now = float(w.detach() @ star / w.detach().norm())
        if now >= 0:
            return t - rate * now / (now - before)
        before, t = now, t + rate
        loss = 0.5 * (f_star - torch.relu(x @ w)).square().mean()
        w = (w - rate * torch.autograd.grad(loss, w)[0]).detach().requires_grad_()
    raise AssertionError("no escape")


def points(seed: int, n: int, d: int) -> torch.Tensor:
    """Gaussian points and their negatives, whitened to reduce noise."""
    x = np.random.default_rng(seed).standard_normal((n // 2, d))
    x = x @ np.linalg.inv(np.linalg.cholesky(x.T @ x / len(x))).T
    return torch.from_numpy(np.concatenate([x, -x]))


def test_gradient_descent_on_many_points_takes_the_time_of_the_flow():
    """ϵ = 0.3: seven independent samples, within four standard errors and what halving the step changes."""
    w, w_star = at_angle(math.pi - 0.3, 1.0, d=3)
    times = np.array([descent(points(seed, 20_000, 3), w, w_star, 0.02) for seed in range(7)])
    halved = descent(points(0, 20_000, 3), w, w_star, 0.01)
    error = 4 * times.std(ddof=1) / math.sqrt(7) + 2 * abs(halved - times[0])
    assert error < 0.5
    assert abs(times.mean() - escape_time("gradient", w, w_star, math.pi / 2)) < error
    assert abs(times.mean() - escape_time("printed", w, w_star, math.pi / 2)) > 10


def test_descent_on_points_is_faster_than_one_over_epsilon():
    """From ϵ = 0.4 to 0.1 the law 1/ϵ has the time fourfold; descent takes 2 ln 4 more, to a few tenths."""
    late, early = (
        np.mean([descent(points(seed, 60_000, 2), *at_angle(math.pi - e, 1.0, d=2), 0.04) for seed in range(3)])
        for e in (0.1, 0.4)
    )
    assert late - early == pytest.approx(2 * math.log(4), abs=0.4) and late < 2.2 * early


def test_the_gradient_is_the_mean_over_points():
    w, w_star = at_angle(2.2, 0.7, d=4)
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((200_000, 4)))
    star, mine = torch.from_numpy(w_star), torch.from_numpy(w)
    each = x * ((x @ mine > 0) * (torch.relu(x @ star) - torch.relu(x @ mine)))[:, None]
    error = 4 * (each.std(0) / math.sqrt(len(x))).numpy()
    assert (np.abs(each.mean(0).numpy() - gradient(w_star, w[None])[0]) < error).all()


@pytest.mark.parametrize("kind, theta, theta_0, message", [
    ("gradients", 3.0, 1.0, "did you mean 'gradient'"),
    ("gradient", 1.0, 2.0, "expected a start between the end and π"),
    ("gradient", 3.0, 0.0, "an end above 0"),
])  # fmt: skip
def test_wrong_arguments_raise_an_error(kind, theta, theta_0, message):
    with pytest.raises(UserError, match=message):
        escape_time(kind, *at_angle(theta, 1.0), theta_0)
