"""Norms of the weights that lead out of a unit."""

import math

import pytest
import torch
from torch import nn

import relulab


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@torch.no_grad()
def norms_out_of(*linears: nn.Linear) -> list[float]:
    """``nn.Linear`` keeps the weights out of unit k in column k; several layers that read it count together."""
    n = linears[0].in_features
    return [math.sqrt(sum(float(w) ** 2 for linear in linears for w in linear.weight[:, k])) for k in range(n)]


@pytest.mark.parametrize("widths", [(3, 4, 2), (3, 4, 5, 2), (3, 1, 6, 1)])
def test_mlp_equals_loop(widths):
    net = relulab.torch_default(widths, [0, 1, 2], dtype=torch.float64)
    got = relulab.specialization.fan_out(net)
    assert list(got) == [str(l) for l in range(1, len(widths) - 1)]
    for l in range(1, len(widths) - 1):
        assert got[str(l)].shape == (3, widths[l])
        for i in range(3):
            for k in range(widths[l]):
                expected = math.sqrt(sum(float(w) ** 2 for w in net.W[l].data[i, k]))
                assert float(got[str(l)][i, k]) == pytest.approx(expected, abs=1e-14)


def test_mlp_takes_inputs_too():
    net = relulab.torch_default((3, 4, 2), [0])
    assert torch.equal(
        relulab.specialization.fan_out(net, torch.randn(5, 3))["1"], relulab.specialization.fan_out(net)["1"]
    )


@pytest.mark.parametrize("inplace", [False, True])
def test_sequential_equals_loop(inplace):
    module = nn.Sequential(
        nn.Linear(3, 4), nn.ReLU(inplace), nn.Linear(4, 5), nn.ReLU(inplace), nn.Linear(5, 2)
    ).double()
    got = relulab.specialization.fan_out(module, torch.randn(6, 3, dtype=torch.float64))
    assert list(got) == ["1", "3"]
    assert got["1"].tolist() == pytest.approx(norms_out_of(module[2]), abs=1e-14)
    assert got["3"].tolist() == pytest.approx(norms_out_of(module[4]), abs=1e-14)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.relu, self.below, self.left, self.right = nn.ReLU(), nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 5)
        self.double()

    def forward(self, x):
        f = self.relu(self.below(x))
        return torch.cat([self.left(f), self.right(f)], -1)


def test_two_readers_of_one_relu_are_stacked():
    net = TwoHeads()
    got = relulab.specialization.fan_out(net, torch.randn(6, 3, dtype=torch.float64))
    assert list(got) == ["relu"]
    assert got["relu"].tolist() == pytest.approx(norms_out_of(net.left, net.right), abs=1e-14)


def test_relu_that_feeds_no_linear_is_left_out():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.ReLU())
    assert list(relulab.specialization.fan_out(module, torch.randn(6, 3))) == ["1"]


def test_relu_that_is_used_twice_has_two_layers_of_units():
    relu, x = nn.ReLU(), torch.randn(6, 3)
    module = nn.Sequential(nn.Linear(3, 4), relu, nn.Linear(4, 5), relu, nn.Linear(5, 2))
    got = relulab.specialization.fan_out(module, x)
    assert list(got) == list(relulab.hidden(module, x))
    for norms, reader in zip(got.values(), (module[2], module[4]), strict=True):
        assert norms.tolist() == pytest.approx(norms_out_of(reader), abs=1e-6)


def test_hooks_are_gone_afterward():
    net = TwoHeads()
    relulab.specialization.fan_out(net, torch.randn(6, 3, dtype=torch.float64))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())


def test_user_module_without_inputs_is_an_error():
    with pytest.raises(relulab.UserError, match="x"):
        relulab.specialization.fan_out(TwoHeads())
