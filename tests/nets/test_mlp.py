"""MLP: lanes are independent networks, and plain modules go in and out unchanged."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from relulab import MLP, Residual, UserError, torch_default
from relulab.subjects.specialization import lowest

SHAPES = st.lists(st.integers(1, 6), min_size=2, max_size=6)


@settings(max_examples=40, deadline=None)
@given(widths=SHAPES, lanes=st.integers(1, 4), bias=st.booleans(), slope=st.sampled_from([0.0, 0.2]))
def test_lanes_equal_plain_modules(widths, lanes, bias, slope):
    net = torch_default(widths, seeds=range(lanes), bias=bias, slope=slope, dtype=torch.float64)
    x = torch.randn(lanes, 9, widths[0], dtype=torch.float64)
    together = net(x)
    for i in range(lanes):
        torch.testing.assert_close(together[i], net.module(i)(x[i]), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(together[i : i + 1], net.lane(i)(x[i : i + 1]), rtol=1e-12, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(widths=SHAPES, bias=st.booleans())
def test_modules_there_and_back(widths, bias):
    net = torch_default(widths, seeds=[3, 4], bias=bias)
    back = MLP.of(net.module(0), net.module(1))
    assert back.widths == net.widths and back.bias == net.bias
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), back.parameters(), strict=True))


def test_inputs_without_a_lane_axis_are_shared():
    net = torch_default((3, 4, 2), seeds=[0, 1])
    x = torch.randn(5, 3)
    assert torch.equal(net(x), net(x.expand(2, 5, 3)))


def test_a_lane_shares_memory():
    net = torch_default((3, 4, 2), seeds=[0, 1])
    net.lane(1).W[0].data.zero_()
    assert net.W[0].data[1].abs().max() == 0 and net.W[0].data[0].abs().max() > 0


def test_start_of_a_seed_does_not_depend_on_its_neighbors():
    alone, among = torch_default((3, 4, 2), seeds=[7]), torch_default((3, 4, 2), seeds=[1, 7, 2])
    assert all(torch.equal(a[0], b[1]) for a, b in zip(alone.parameters(), among.parameters(), strict=True))


@pytest.mark.parametrize(
    "widths, lanes, slope", [((3,), 1, 0.0), ((3, 0, 2), 1, 0.0), ((3, -4), 1, 0.0), ((3, 2), 0, 0.0), ((3, 2), 1, 1.5)]
)
def test_impossible_shapes_are_refused(widths, lanes, slope):
    with pytest.raises(UserError, match=r"widths|slope"):
        MLP(widths, lanes=lanes, slope=slope)


@pytest.mark.parametrize(
    "module, says",
    [
        (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), "expected a ReLU.*Tanh"),
        (nn.Sequential(nn.Linear(3, 4), nn.ReLU()), "Linear-ReLU-…-Linear.*Linear-ReLU:"),
        (nn.Sequential(nn.Linear(3, 4), nn.Conv1d(1, 1, 1), nn.Linear(4, 2)), "Linear-Conv1d-Linear"),
        (
            nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.LeakyReLU(0.1), nn.Linear(4, 2)),
            r"one slope.*0\.1",
        ),
    ],
)
def test_other_modules_are_named_in_the_refusal(module, says):
    with pytest.raises(UserError, match=says):
        MLP.of(module)


def test_only_sequential_modules_are_read():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.relu, self.b = nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3)

        def forward(self, x):
            return x + self.b(self.relu(self.a(x)))

    with pytest.raises(UserError, match="Residual"):
        MLP.of(Residual())


def test_one_relu_may_serve_twice_and_blocks_may_be_nested():
    relu = nn.ReLU()
    module = nn.Sequential(nn.Sequential(nn.Linear(3, 4), relu), nn.Linear(4, 5), relu, nn.Linear(5, 2))
    x = torch.randn(6, 3)
    torch.testing.assert_close(MLP.of(module)(x)[0], module(x))


def test_lanes_of_different_shapes_are_refused():
    with pytest.raises(UserError, match="2 different shapes"):
        MLP.of(nn.Linear(3, 2), nn.Linear(4, 2))


@pytest.mark.parametrize("net", [MLP((3, 5, 1), lanes=2), Residual((3, 5, 1), depth=3, lanes=2)])
def test_points_that_do_not_fit_are_reported_in_one_sentence(net):
    assert net(torch.zeros(7, 3)).shape == net(torch.zeros(1, 7, 3)).shape == (2, 7, 1)
    with pytest.raises(UserError, match=r"shape \(N, 3\) or \(2, N, 3\) for .*, 2 lanes, .* got \(7, 4\): reshape"):
        net(torch.zeros(7, 4))
    with pytest.raises(UserError, match=r"got \(4, 7, 3\)"):
        net(torch.zeros(4, 7, 3))
    with pytest.raises(UserError, match=r"the type of the network, torch.float32, got torch.float64: convert"):
        net(torch.zeros(7, 3, dtype=torch.float64))
    with torch.autocast("cpu", torch.bfloat16):
        assert net(torch.zeros(7, 3, dtype=torch.bfloat16)).shape == (2, 7, 1)


def test_a_lane_that_does_not_exist_is_refused():
    net = torch_default((3, 5, 1), seeds=[0, 1])
    assert torch.equal(net.lane(-1).W[0], net.lane(1).W[0])
    for wrong in (2, -3):
        for of_lane in (net.lane, net.module, lambda i: lowest(net, i)):
            with pytest.raises(UserError, match=f"expected one of 2 lanes, got lane {wrong}"):
                of_lane(wrong)
