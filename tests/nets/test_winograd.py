"""Winograd's algorithm against PyTorch's convolution, and by finite differences."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import fx, nn

from relulab.nets.conv_net import conv_net
from relulab.nets.tracing import traced
from relulab.nets.winograd import WinogradConv2d, convolution

SIZES = st.integers(1, 5)


def drawn(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=dtype).requires_grad_()


@given(N=SIZES, n=SIZES, k=SIZES, height=st.integers(3, 15), width=st.integers(3, 15), last=st.booleans())
@settings(max_examples=30, deadline=None)
def test_values_and_gradients_are_those_of_pytorch(N, n, k, height, width, last):
    x, w, b = drawn(N, n, height, width), drawn(k, n, 3, 3), drawn(k)
    form = torch.channels_last if last else torch.contiguous_format
    y, naive = convolution(x.contiguous(memory_format=form), w, b), nn.functional.conv2d(x, w, b)
    g = drawn(*naive.shape).detach()
    ours, theirs = (torch.autograd.grad(f, (x, w, b), g) for f in (y, naive))
    for a, c in zip((y.detach(), *ours), (naive.detach(), *theirs), strict=True):
        assert torch.allclose(a, c, rtol=0, atol=1e-12 * float(c.abs().max().clamp(min=1)))


def test_gradients_of_gradients():
    parts = (drawn(2, 3, 5, 7), drawn(4, 3, 3, 3), drawn(4))
    assert torch.autograd.gradcheck(convolution, parts)
    assert torch.autograd.gradgradcheck(convolution, parts)


def test_only_gradients_that_are_needed_are_computed():
    x, w = drawn(2, 3, 6, 6), drawn(4, 3, 3, 3)
    (g,) = torch.autograd.grad(convolution(x.detach(), w).sum(), w)
    assert torch.allclose(g, torch.autograd.grad(nn.functional.conv2d(x.detach(), w).sum(), w)[0])
    (g,) = torch.autograd.grad(convolution(x, w.detach()).sum(), x)
    assert torch.allclose(g, torch.autograd.grad(nn.functional.conv2d(x, w.detach()).sum(), x)[0])


@pytest.mark.parametrize("padding", [0, 1, (0, 2)])
def test_the_layer_uses_it_where_products_are_large(padding, monkeypatch):
    used = []
    monkeypatch.setattr("relulab.nets.winograd.convolution", lambda *parts: used.append(1) or convolution(*parts))
    conv, x = WinogradConv2d(160, 160, 3, padding=padding), drawn(16, 160, 14, 14, dtype=torch.float32).detach()
    y = conv(x)
    plain = nn.Conv2d.forward(conv, x)
    assert used and y.shape == plain.shape
    exact = nn.functional.conv2d(x.double(), conv.weight.double(), conv.bias.double(), padding=padding)
    assert float(((y - exact).norm() / exact.norm()).detach()) < 2e-5  # single precision


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({"stride": 2}, (16, 160, 14, 14)),
        ({"dilation": 2}, (16, 160, 14, 14)),
        ({"groups": 2}, (16, 160, 14, 14)),
        ({"padding": 1, "padding_mode": "reflect"}, (16, 160, 14, 14)),
        ({"padding": "same"}, (16, 160, 14, 14)),
        ({}, (1, 160, 5, 5)),
        ({}, (160, 14, 14)),
    ],
)
def test_the_layer_is_that_of_pytorch_otherwise(options, shape, monkeypatch):
    monkeypatch.setattr("relulab.nets.winograd.convolution", lambda *_: pytest.fail("Winograd's algorithm was used"))
    conv, x = WinogradConv2d(160, 160, 3, **options), drawn(*shape, dtype=torch.float32).detach()
    assert torch.equal(conv(x), nn.Conv2d.forward(conv, x))


def test_it_can_be_traced_as_a_layer():
    net = nn.Sequential(WinogradConv2d(2, 3, 3), nn.ReLU())
    assert [str(node.target) for node in traced(net).graph.nodes] == ["input", "0", "1", "output"]
    x = drawn(2, 2, 5, 5, dtype=torch.float32)
    assert torch.equal(fx.symbolic_trace(net)(x), net(x))


def test_a_network_is_exported_for_any_number_of_images():
    net = conv_net((1, 160, 160), 8, 3, batch_norm="before").eval()
    x = torch.randn(20, 1, 8, 8)
    n = torch.export.Dim("n")
    program = torch.export.export(net, (x,), dynamic_shapes=({0: n},))
    exported = program.module()
    with torch.no_grad():
        for some in (x[:3], x):
            assert torch.allclose(exported(some), net(some), atol=1e-4)
