"""Convolutional networks: their structure, their seeds, and what is refused."""

import pytest
import torch
from torch import nn

from relulab import UserError, conv_net
from relulab.nets.conv_net import time_share


@pytest.mark.parametrize(
    ("norm", "kinds"),
    [
        (None, ["WinogradConv2d", "ReLU"]),
        ("after", ["WinogradConv2d", "ReLU", "BatchNorm2d"]),
        ("before", ["WinogradConv2d", "BatchNorm2d", "ReLU"]),
    ],
)
def test_the_order_of_layers(norm, kinds):
    net = conv_net((1, 4, 6), 8, 10, batch_norm=norm)
    assert [type(part).__name__ for part in net] == [*kinds, *kinds, "Flatten", "Linear"]
    assert net[-1].in_features == 6 * 4 * 4 and net(torch.randn(2, 1, 8, 8)).shape == (2, 10)


def test_weights_depend_on_the_seed_alone_and_are_those_of_pytorch_in_size():
    a, b, other = (
        conv_net((3, 8, 8), 8, 4, seed=1),
        conv_net((3, 8, 8), 8, 4, seed=1),
        conv_net((3, 8, 8), 8, 4, seed=2),
    )
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert not torch.equal(a[0].weight, other[0].weight)
    with_norm = conv_net((3, 8, 8), 8, 4, seed=1, batch_norm="after")
    assert torch.equal(a[0].weight, with_norm[0].weight) and torch.equal(a[-1].bias, with_norm[-1].bias)
    bound = (3 * 9) ** -0.5
    assert 0.9 * bound < float(a[0].weight.detach().abs().max()) <= bound
    assert a[0].weight.is_contiguous(memory_format=torch.channels_last)


def test_padding_keeps_the_size():
    net = conv_net((2, 3, 3), 7, 5, padding=1, dtype=torch.float64)
    assert net[:-2](torch.randn(1, 2, 7, 7, dtype=torch.float64)).shape == (1, 3, 7, 7)
    assert all(isinstance(p, nn.Parameter) and p.dtype == torch.float64 for p in net.parameters())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ((1, 4, 4, 4), 6, 10),
            "expected images of at least 7 × 7 pixels for 3 convolutions with 3 × 3 filters, got 6",
        ),
        (((1,), 8, 10), "expected the numbers of channels of the images and of at least one convolution"),
        (((1, 0), 8, 10), "positive integers"),
        (((1, 4), 8, 0), "outputs"),
    ],
)
def test_what_is_refused(arguments, words):
    with pytest.raises(UserError, match=words):
        conv_net(*arguments)


def test_an_unknown_place_of_the_norm():
    with pytest.raises(UserError, match="expected batch_norm to be 'after' or 'before' or None, got 'aftr'"):
        conv_net((1, 4), 8, 2, batch_norm="aftr")


def test_small_convolutions_take_longer_per_operation():
    shares = [time_share(n, n) for n in (4, 16, 64, 160, 640)]
    assert shares == sorted(shares, reverse=True) and shares[0] > 2 and shares[-1] < 0.3
    assert time_share(3, 64) == time_share(64, 3)
