"""The adaptive solver, compared with Runge-Kutta steps of fixed size, and integrals compared with closed forms."""

import numpy as np
import pytest

from relulab import UserError
from relulab.core.angle import norms
from relulab.flow.adaptive import flow, integral


def runge_kutta(velocity, W, time, steps):
    """The classical method of order four with equal steps."""
    h = time / steps
    for _ in range(steps):
        a = velocity(W)
        b = velocity(W + h / 2 * a)
        c = velocity(W + h / 2 * b)
        W = W + h / 6 * (a + 2 * b + 2 * c + velocity(W + h * c))
    return W


def test_it_follows_a_nonlinear_flow():
    rng = np.random.default_rng(0)
    W, w_star, a = 0.1 * rng.standard_normal((3, 4)), rng.standard_normal(4), np.array([0.5, 1.0, 1.5])

    def velocity(W):
        return norms(W)[:, None] * (w_star - a @ W)

    slow = [runge_kutta(velocity, W, 5.0, steps) for steps in (500, 1000)]
    error = np.abs(slow[1] - slow[0]).max()
    assert error < 1e-8
    for method in ("DOP853", "LSODA"):
        fast = flow(velocity, W, 5.0, method=method).at(np.array([5.0]))[0]
        assert np.abs(fast - slow[1]).max() < 1e-7


def test_integrals_along_a_path_that_is_known():
    path = flow(lambda W: -W, np.array([[1.0, 2.0], [0.0, 3.0]]), 3.0)
    times = np.array([0.0, 0.4, 3.0])
    integrals = integral(path, lambda W: norms(W) ** 2, times)
    assert integrals == pytest.approx((1 - np.exp(-2 * times))[:, None] / 2 * np.array([5.0, 9.0]), abs=1e-8)
    assert np.abs(integrals - (1 - np.exp(-2 * times))[:, None] / 2 * np.array([5.0, 8.9])).max() > 0.04


def test_it_stops_where_it_should():
    path = flow(lambda W: -W, np.array([[4.0, 3.0]]), 100.0, until=lambda W: norms(W)[0] - 1.0)
    assert path.reached and path.times[-1] == pytest.approx(np.log(5), abs=1e-8)
    assert not flow(lambda W: -W, np.array([[4.0, 3.0]]), 1.0, until=lambda W: norms(W)[0] - 1.0).reached


def test_snapshots_lie_on_the_dense_solution():
    path = flow(lambda W: -W, np.array([[1.0, 2.0], [0.0, 3.0]]), 3.0)
    assert path.steps == len(path) - 1 > 3 and path.times[0] == 0 and path.times[-1] == 3.0
    np.testing.assert_allclose(path.at(path.times), path["W"], rtol=1e-12)
    np.testing.assert_array_equal(path.end, path["W"][-1])


def test_a_flow_that_diverges_is_reported():
    with pytest.raises(UserError, match=r"failed beyond t = (1|0\.99\d*), .* use a shorter time"):
        flow(lambda W: W**2, np.array([[1.0, 0.5]]), 2.0)


def test_a_discontinuous_velocity_is_refused(monkeypatch):
    monkeypatch.setattr("relulab.flow.adaptive.MOST", 2000)
    with pytest.raises(UserError, match="more than 2,000 evaluations"):
        flow(lambda W: 1 - 50 * np.sign(np.sin(1e3 * W)), np.array([[0.1, 0.2]]), 5.0)
