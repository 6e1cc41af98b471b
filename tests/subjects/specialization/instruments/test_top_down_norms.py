"""√E[β_kk] against the diagonal of mean β, and against derivatives of single outputs."""

import numpy as np
import pytest
import torch
from torch import nn

import relulab as rl
from relulab import UserError
from relulab.subjects.specialization import layer_means, top_down_norms
from relulab.subjects.specialization.tools import streamed_means

SHAPES = [(4, 5, 3), (4, 7, 8, 3), (4, 7, 5, 6, 3), (4, 7, 8, 6, 7, 3), (4, 5, 4, 6, 30)]


def inputs(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(2).standard_normal(shape))


@pytest.mark.parametrize("small", [0, 10**9], ids=["point by point", "in blocks"])
@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("widths", SHAPES)
def test_norms_are_the_diagonal_of_mean_beta(widths, slope, small, monkeypatch):
    monkeypatch.setattr(streamed_means, "SMALL", small)
    monkeypatch.setattr(streamed_means, "ENTRIES", 90)
    net, x = rl.torch_default(widths, range(2), slope=slope, dtype=torch.float64), inputs(9, 4)
    norms, means = top_down_norms(net, x), layer_means(net, x)
    assert norms.keys() == means.keys()
    for layer, values in norms.items():
        torch.testing.assert_close(values, means[layer].beta.diagonal(dim1=-2, dim2=-1).sqrt())


class Hidden(nn.Module):
    """The same function in a module that is not plain, so that it is differentiated."""

    def __init__(self, net: nn.Module):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)


def test_other_modules_are_differentiated():
    net, x = rl.torch_default((4, 7, 5, 3), [0], dtype=torch.float64), inputs(9, 4)
    plain, other = top_down_norms(net.module(), x), top_down_norms(Hidden(net.module()), x)
    assert list(plain) == ["1", "3"] and list(other) == ["net.1", "net.3"]
    for a, b, c in zip(top_down_norms(net, x).values(), plain.values(), other.values(), strict=True):
        torch.testing.assert_close(a[0], b)
        torch.testing.assert_close(b, c)


def test_in_a_two_layer_network_it_is_the_fan_out():
    net = rl.torch_default((4, 7, 3), range(2))
    torch.testing.assert_close(top_down_norms(net, inputs(5, 4).float())["1"], rl.specialization.fan_out(net)["1"])


def test_channels_are_nodes_and_pixels_are_samples():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Conv2d(2, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4)
    ).double()
    x = inputs(6, 1, 4, 4)
    V = rl.specialization.top_down(net, x)["1"].reshape(6, 4, 2, 9)  # points, outputs, channels, pixels
    torch.testing.assert_close(top_down_norms(net, x)["1"], V.square().sum(1).mean((0, 2)).sqrt())


def test_random_directions_have_the_same_mean_square():
    """Each estimate of E[β_kk] lies within five standard errors, computed from independent draws."""
    net, x = rl.torch_default((4, 6, 5, 10), [0], dtype=torch.float64), inputs(40, 4)
    exact = top_down_norms(net, x)
    draws = [top_down_norms(net, x, draws=5, root=root) for root in range(30)]
    for layer, norms in exact.items():
        squares = torch.stack([d[layer] for d in draws]).square()
        error = squares.std(0) / len(draws) ** 0.5
        assert bool(((squares.mean(0) - norms.square()).abs() <= 5 * error).all())
        assert float((squares.std(0) / norms.square()).max()) < 3 * (2 / (40 * 5)) ** 0.5  # about √(2/(N · draws))


def test_lanes_share_their_random_directions():
    net, x = rl.torch_default((4, 6, 5, 10), range(3), dtype=torch.float64), inputs(40, 4)
    together = top_down_norms(net, x, draws=2)
    for lane in range(3):
        for layer, norms in top_down_norms(net.lane(lane), x, draws=2).items():
            torch.testing.assert_close(together[layer][lane], norms[0])


def test_blocks_of_points_add_up(monkeypatch):
    net, x = Hidden(rl.torch_default((4, 6, 5, 3), [0], dtype=torch.float64).module()), inputs(40, 4)
    at_once = top_down_norms(net, x)
    monkeypatch.setattr("relulab.subjects.specialization.instruments.top_down_norms.CHUNK", 7)
    for layer, norms in top_down_norms(net, x).items():
        torch.testing.assert_close(norms, at_once[layer])


def test_bad_arguments_are_named():
    net = rl.torch_default((4, 6, 3), [0])
    with pytest.raises(UserError, match="at least one point"):
        top_down_norms(net, torch.zeros(0, 4))
    with pytest.raises(UserError, match="draws=0"):
        top_down_norms(net, torch.zeros(2, 4), draws=0)
    with pytest.raises(UserError, match="flatten them in the module"):
        top_down_norms(nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU()), torch.zeros(2, 1, 4, 4))
