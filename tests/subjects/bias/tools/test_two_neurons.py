"""A network pruned to two neurons: against sums by hand, the exact change of the output, symmetries and mistakes."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import relulab as rl
from relulab import UserError
from relulab.nets.mlp import MLP
from relulab.subjects.bias.tools.orthants import OppositeOrthants
from relulab.subjects.bias.tools.two_neurons import two_neurons


def random_net(bias: bool, seed: int = 0) -> MLP:
    return rl.torch_default((4, 9, 1), [seed], bias=bias, dtype=torch.float64)


def points(n: int = 60) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(5).standard_normal((n, 4)))


def output(net: MLP, x: torch.Tensor) -> list[float]:
    """f(x) by loops over neurons."""
    W, b, a, c = net.W[0].data[0], net.b[0].data[0, 0], net.W[1].data[0, :, 0], float(net.b[1].data)
    return [c + sum(float(a[j]) * max(0.0, float(x[i] @ W[:, j] + b[j])) for j in range(len(a))) for i in range(len(x))]


@pytest.mark.parametrize("bias", [False, True])
def test_neurons_are_sums_and_the_change_is_the_smaller_of_two_parts(bias):
    net, x = random_net(bias), points()
    found = two_neurons(net, x)
    W, b, a = net.W[0].data[0], net.b[0].data[0, 0], net.W[1].data[0, :, 0]
    small = found.net
    for k, sign in enumerate((1, -1)):
        rows = [j for j in range(9) if sign * a[j] > 0]
        total = sum(float(abs(a[j])) * W[:, j] for j in rows)
        torch.testing.assert_close(small.W[1].data[0, k, 0] * small.W[0].data[0, :, k], sign * total)
        offset = sum(float(a[j] * b[j]) for j in rows)
        assert float(small.W[1].data[0, k, 0] * small.b[0].data[0, 0, k]) == pytest.approx(offset, abs=1e-12)
    f, g = output(net, x), output(small, x)
    # The change at x is min(p, q), with the active parts p and the inactive parts q of the neurons of one sign.
    for i in range(len(x)):
        change = 0.0
        for sign in (1, -1):
            z = [sign * float(a[j]) * float(x[i] @ W[:, j] + b[j]) for j in range(9) if sign * a[j] > 0]
            change += sign * min(sum(v for v in z if v > 0), -sum(v for v in z if v < 0))
        assert f[i] - g[i] == pytest.approx(change, abs=1e-12)
    largest = max(abs(p - q) for p, q in zip(f, g, strict=True))
    assert found.largest == pytest.approx(largest, rel=1e-9) and largest > 0.01
    assert found.relative == pytest.approx(largest / max(map(abs, f + g)), rel=1e-9)
    agree = sum((p > 0) == (q > 0) for p, q in zip(f, g, strict=True))
    assert found.same.value == agree / 60 and found.same.low < agree / 60 < 1
    assert (found.positive, found.negative, found.off) == (int((a > 0).sum()), int((a < 0).sum()), 0)
    assert found.before is None and found.after is None


def test_a_network_of_max_margin_neurons_loses_nothing():
    data = OppositeOrthants(6).draw(np.random.default_rng(0), 80)
    net = rl.balanced((6, 20, 1), seeds=[0])
    rl.gradient_flow(net, data.X, data.y, until=60, step=0.8)
    found = two_neurons(net, data.X, data)
    assert found.same.value == 1 and found.same.low > 0.95 and found.relative < 1e-12
    assert found.before.value == found.after.value == 1 and found.positive + found.negative + found.off == 20
    untrained = two_neurons(rl.balanced((6, 20, 1), seeds=[0]), data.X, data)
    assert untrained.relative > 0.1


def test_neurons_that_are_off_are_left_out_and_costs_are_measured_elsewhere():
    net, x = random_net(True), points()
    net.W[0].data[0, :, 2], net.b[0].data[0, 0, 2] = 0.0, -1.0
    net.W[1].data[0, 3, 0] = 0.0
    x, test = x[:30], x[30:]
    found = two_neurons(net, x, test)
    kept = [j for j in range(9) if j not in (2, 3)]
    less = MLP((4, 7, 1), dtype=torch.float64)
    less.W[0].data, less.b[0].data = net.W[0].data[..., kept], net.b[0].data[..., kept]
    less.W[1].data, less.b[1].data = net.W[1].data[:, kept], net.b[1].data
    torch.testing.assert_close(found.net.W[0].data, two_neurons(less, x).net.W[0].data)
    assert found.off == 2 and found.tested == 30
    change = (torch.tensor(output(net, test)) - torch.tensor(output(found.net, test))).abs().max()
    assert found.largest == pytest.approx(float(change))


@pytest.mark.parametrize("factor", [1e-100, 3.0, 1e100])
def test_scale_order_and_copies_of_neurons_do_not_matter(factor):
    net, x = random_net(False), points()
    found = two_neurons(net, x)
    other = MLP((4, 18, 1), bias=False, dtype=torch.float64)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1)).repeat(2)
    other.W[0].data, other.W[1].data = factor * net.W[0].data[..., order], net.W[1].data[:, order] / 2
    again = two_neurons(other, x)
    assert again.same == found.same and again.relative == pytest.approx(found.relative, rel=1e-9)
    assert again.largest / factor == pytest.approx(found.largest, rel=1e-9)
    assert math.isclose(again.net.W[1].data[0, 0, 0] ** 2, again.net.W[0].data[0, :, 0].norm() ** 2, rel_tol=1e-9)


def test_one_sign_only_and_plain_modules():
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    net[2].weight.data.abs_()
    found = two_neurons(net, points())
    assert found.negative == 0 and not found.net.W[0].data[0, :, 1].any() and found.net.W[1].data[0, 1, 0] == 0


@pytest.mark.parametrize("net, x, message", [
    (rl.torch_default((4, 3, 2), [0]), points(), "one output, got widths"),
    (rl.torch_default((4, 3, 3, 1), [0]), points(), "two-layer ReLU network"),
    (rl.torch_default((4, 3, 1), [0], slope=0.1), points(), "slope 0.1"),
    (rl.torch_default((4, 3, 1), [0]), points()[:, :3], r"shape \(n, 4\)"),
    (MLP((4, 3, 1)), points(), "none of the 3 neurons is active"),
])  # fmt: skip
def test_mistakes(net, x, message):
    with pytest.raises(UserError, match=message):
        two_neurons(net, x)


def test_weights_that_are_not_finite():
    net = random_net(False)
    net.W[0].data[0, 0, 0] = torch.nan
    with pytest.raises(UserError, match="NaN or infinite"):
        two_neurons(net, points())
