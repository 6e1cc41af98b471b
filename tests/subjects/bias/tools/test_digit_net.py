"""The network of IB table 1: its layers, its start, and its features against a forward pass written out."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d

from relulab import hidden
from relulab.subjects.bias.tools.digit_net import CONVOLUTIONS, MACS, digit_net, layer_features

X = torch.linspace(-1, 1, 3 * 28 * 28, dtype=torch.float64).sin().reshape(3, 1, 28, 28).float()


def test_the_table():
    net = digit_net(0)
    kinds = [(m.out_channels, m.kernel_size[0], m.stride[0], m.padding[0]) for m in net if isinstance(m, nn.Conv2d)]
    assert tuple(kinds) == CONVOLUTIONS and all(m.bias is not None for m in net if hasattr(m, "weight"))
    assert [(m.in_features, m.out_features) for m in net if isinstance(m, nn.Linear)] == [(3136, 128), (128, 1)]
    assert sum(isinstance(m, nn.ReLU) for m in net) == 7 and isinstance(net[-1], nn.Linear)
    assert net(X).shape == (3, 1)


def test_multiplications_are_counted_right():
    net, count = digit_net(0), 0
    for layer, before, _ in layer_features(net, X[:1]):
        weight = (net.fc7 if layer == 7 else getattr(net, f"conv{layer}")).weight
        count += before.numel() * weight[0].numel()
    assert count + 128 == MACS


@pytest.mark.parametrize("name", ["conv1", "conv5", "fc7"])
def test_the_start_is_uniform_within_the_fan_in(name):
    layer = getattr(digit_net(3), name)
    bound = layer.weight[0].numel() ** -0.5
    for tensor, factor in ((layer.weight, 0.05 if name == "fc7" else 1.0), (layer.bias, 1.0)):
        values = (tensor.detach().double() / (bound * factor)).flatten()
        assert values.abs().max() <= 1 + 1e-6
        # U(−1, 1): mean 0 with variance 1/3, mean square 1/3 with variance 4/45
        assert abs(values.mean()) < 5 * (1 / 3 / len(values)) ** 0.5
        assert abs((values**2).mean() - 1 / 3) < 5 * (4 / 45 / len(values)) ** 0.5


def test_seeds_and_roots_differ_and_repeat():
    torch.manual_seed(1)
    state = torch.get_rng_state()
    one, same = digit_net(4).fc7.weight, digit_net(4).fc7.weight
    assert torch.equal(one, same) and torch.equal(torch.get_rng_state(), state)  # nothing drawn from a global state
    assert not torch.equal(one, digit_net(5).fc7.weight) and not torch.equal(one, digit_net(4, root=1).fc7.weight)
    assert torch.equal(digit_net(4, scale=1.0).fc7.weight * 0.05, one)
    assert torch.equal(digit_net(4, scale=1.0).fc7.bias, digit_net(4).fc7.bias)


def test_features_are_those_of_a_forward_pass_written_out():
    net = digit_net(1, scale=1.0).double()
    f = X.double()
    found = list(layer_features(net, f))
    assert [layer for layer, *_ in found] == list(range(1, 8))
    for (layer, before, after), (_, _, stride, padding) in zip(found, CONVOLUTIONS, strict=False):
        conv = getattr(net, f"conv{layer}")
        z = conv2d(f, conv.weight, conv.bias, stride, padding)
        f = z * (z > 0)
        torch.testing.assert_close(before, z.reshape(3, -1), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(after, f.reshape(3, -1), rtol=1e-12, atol=1e-12)
    W, b = net.fc7.weight.detach().numpy(), net.fc7.bias.detach().numpy()
    z = np.einsum("ni,oi->no", f.reshape(3, -1).detach().numpy(), W) + b
    np.testing.assert_allclose(found[-1][1].numpy(), z, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[-1][2].numpy(), np.maximum(z, 0), rtol=1e-10, atol=1e-12)


def test_hooks_see_every_layer():
    seen = hidden(digit_net(0), X)
    assert list(seen) == [f"relu{l}" for l in range(1, 8)] and seen["relu7"].shape == (3, 128)
    assert torch.equal(seen["relu7"], list(layer_features(digit_net(0), X))[-1][2])
