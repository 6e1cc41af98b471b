"""V_l(x) against automatic differentiation of the upper part of the network, one sample at a time."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd.functional import jacobian

import relulab

WIDTHS = {2: (4, 5, 3), 3: (4, 7, 8, 3), 4: (4, 7, 8, 9, 3), 5: (4, 7, 8, 9, 7, 3)}
SEED = 1  # of the inputs: no unit sits exactly at its kink, where V is a matter of convention
CASES = list(itertools.product(WIDTHS, [0.0, 0.1], [True, False]))


def random_net(depth: int, slope: float = 0.0, bias: bool = True, lanes: int = 2):
    return relulab.torch_default(WIDTHS[depth], list(range(lanes)), slope=slope, bias=bias, dtype=torch.float64)


def random_inputs(n: int = 6, *lanes: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(SEED).normal(size=(*lanes, n, 4)))


def upper_jacobian(module: nn.Sequential, cut: int, x: torch.Tensor) -> torch.Tensor:
    """(N, C, n): derivative of everything above ``cut`` parts with respect to what these parts put out."""
    lower, upper = module[:cut], module[cut:]
    rows = []
    for sample in x:
        f = lower(sample[None])[0].detach()
        rows.append(jacobian(lambda z: upper(z[None])[0], f).reshape(-1, f.numel()))
    return torch.stack(rows)


def sits_at_kink(net: relulab.MLP, x: torch.Tensor) -> bool:
    """A whole layer is silent below a layer without bias."""
    return any(bool((f == 0).all(-1).any()) for f in net.layers(x)[:-1])


def assert_close(got: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(got.detach(), expected.detach(), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("depth", "slope", "bias"), CASES)
def test_mlp_equals_jacobian(depth, slope, bias):
    net, x = random_net(depth, slope, bias), random_inputs()
    assert bias or not sits_at_kink(net, x)
    V = relulab.specialization.top_down(net, x)
    assert list(V) == [str(l) for l in range(1, depth)]
    for l in range(1, depth):
        assert V[str(l)].shape == (2, 6, 3, WIDTHS[depth][l])
        for i in range(2):
            assert_close(V[str(l)][i], upper_jacobian(net.module(i), 2 * l, x))


@pytest.mark.parametrize(("depth", "slope", "bias"), CASES)
def test_sequential_gives_the_numbers_of_the_mlp(depth, slope, bias):
    net, x = random_net(depth, slope, bias, lanes=1), random_inputs()
    of_module, of_mlp = relulab.specialization.top_down(net.module(0), x), relulab.specialization.top_down(net, x)
    assert list(of_module) == [str(2 * l - 1) for l in range(1, depth)]
    for mine, theirs in zip(of_module.values(), of_mlp.values(), strict=True):
        assert mine.shape == theirs.shape[1:]
        assert_close(mine, theirs[0])


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_units_at_their_kink_have_the_derivative_that_torch_trains_with(slope):
    """At the origin of a network without biases every unit is at 0, where torch's σ' is ``slope``."""
    net, x = random_net(4, slope, bias=False, lanes=1), torch.zeros(2, 4, dtype=torch.float64)
    for l, V in enumerate(relulab.specialization.top_down(net, x).values(), 1):
        assert_close(V[0], upper_jacobian(net.module(0), 2 * l, x))


def test_inputs_of_each_lane():
    net, x = random_net(3), random_inputs(6, 2)
    V = relulab.specialization.top_down(net, x)
    for i, l in itertools.product(range(2), (1, 2)):
        assert_close(V[str(l)][i], upper_jacobian(net.module(i), 2 * l, x[i]))


def test_parameters_that_do_not_train():
    net, x = random_net(4, lanes=1), random_inputs()
    module = net.module(0).requires_grad_(False)
    for l, V in enumerate(relulab.specialization.top_down(module, x).values(), 1):
        assert_close(V, upper_jacobian(net.module(0), 2 * l, x))
    assert not any(p.requires_grad for p in module.parameters())


def test_under_no_grad():
    net, x = random_net(3, lanes=1), random_inputs()
    with torch.no_grad():
        got = relulab.specialization.top_down(net.module(0), x)
    for l, V in enumerate(got.values(), 1):
        assert_close(V, upper_jacobian(net.module(0), 2 * l, x))


def test_relus_that_work_in_place():
    net, x = random_net(3, lanes=1), random_inputs()
    module = net.module(0)
    module[1], module[3] = nn.ReLU(inplace=True), nn.ReLU(inplace=True)
    for l, V in enumerate(relulab.specialization.top_down(module, x).values(), 1):
        assert_close(V, upper_jacobian(net.module(0), 2 * l, x))


def test_module_is_left_as_it_was():
    module, x = random_net(3, lanes=1).module(0), random_inputs()
    before = [p.detach().clone() for p in module.parameters()]
    relulab.specialization.top_down(module, x)
    assert not any(m._forward_hooks for m in module.modules())
    assert all(p.requires_grad and p.grad is None for p in module.parameters())
    assert all(torch.equal(p, q) for p, q in zip(module.parameters(), before, strict=True))


class Skip(nn.Module):
    """The first hidden layer reaches the output on two ways."""

    def __init__(self):
        super().__init__()
        self.low, self.high = nn.ReLU(), nn.ReLU()
        self.a, self.b, self.c, self.side = nn.Linear(4, 5), nn.Linear(5, 6), nn.Linear(6, 3), nn.Linear(5, 3)
        self.double()

    def forward(self, x):
        f = self.low(self.a(x))
        return self.c(self.high(self.b(f))) + self.side(f)


def test_two_ways_to_the_output_add_up():
    torch.manual_seed(0)
    net, x = Skip(), random_inputs()
    V = relulab.specialization.top_down(net, x)
    assert set(V) == {"low", "high"}
    for n, sample in enumerate(x):
        active = (net.b(torch.relu(net.a(sample))) > 0).double()
        through = net.c.weight @ torch.diag(active) @ net.b.weight
        assert_close(V["high"][n], net.c.weight)
        assert_close(V["low"][n], through + net.side.weight)


def test_channels_count_every_entry():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Conv2d(2, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2)
    ).double()
    x = torch.randn(3, 1, 4, 4, dtype=torch.float64)
    V = relulab.specialization.top_down(module, x)
    assert V["1"].shape == (3, 2, 18)
    assert V["3"].shape == (3, 2, 12)
    assert_close(V["1"], upper_jacobian(module, 2, x))
    assert_close(V["3"], upper_jacobian(module, 4, x))


@pytest.mark.parametrize("lanes", [(), (2,)])
def test_modulation_equals_loops(lanes):
    rng = np.random.default_rng(0)
    V, V_star = rng.normal(size=(*lanes, 3, 4, 5)), rng.normal(size=(*lanes, 3, 4, 2))
    A, B = relulab.specialization.modulation(torch.from_numpy(V), torch.from_numpy(V_star))
    assert A.shape == (*lanes, 3, 5, 2)
    assert B.shape == (*lanes, 3, 5, 5)
    for where in np.ndindex(*lanes, 3):
        for k in range(5):
            for j in range(2):
                assert float(A[where][k, j]) == pytest.approx(sum(V[where][:, k] * V_star[where][:, j]), abs=1e-13)
            for k2 in range(5):
                assert float(B[where][k, k2]) == pytest.approx(sum(V[where][:, k] * V[where][:, k2]), abs=1e-13)
