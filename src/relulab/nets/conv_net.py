"""Convolutional ReLU networks with or without BatchNorm, and a linear layer on top."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.nets.batch_norm_mlp import Order
from relulab.nets.winograd import WinogradConv2d

Layer = TypeVar("Layer", bound=nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d)


def conv_net(
    channels: Sequence[int],
    side: int,
    outputs: int,
    *,
    seed: int = 0,
    root: int = 0,
    kernel: int = 3,
    padding: int = 0,
    batch_norm: Order | None = None,
    dtype: torch.dtype = torch.float32,
) -> nn.Sequential:
    """Create a network of convolutions with ReLUs and a linear layer on all pixels, as in the experiments of LM and SS.

    Weights and biases are drawn from U[−1/√n, 1/√n], n the number of inputs of a node, as PyTorch does. The network has
    the memory format ``torch.channels_last``, and large convolutions use Winograd's algorithm; both make it faster.

    Args:
        channels: Number of channels of the images and of each convolution: (1, 64, 64, 64).
        side: Height and width of the images in pixels.
        outputs: Number of outputs.
        seed: Seed of the weights.
        root: Root seed of all random streams.
        kernel: Height and width of the filters.
        padding: Number of rows and columns of zeros around the inputs of each convolution.
        batch_norm: "after" or "before" puts BatchNorm after or before every ReLU; None leaves it out.
        dtype: Data type of the weights.

    >>> net = conv_net((1, 4, 6), 8, 10, batch_norm="after")
    >>> net(torch.randn(5, 1, 8, 8)).shape
    torch.Size([5, 10])
    """
    left = check_images(channels, side, outputs, kernel, padding)
    rng, parts = stream(root, Role.STUDENT, seed), list[nn.Module]()
    for n, k in pairwise(channels):
        conv = drawn(WinogradConv2d(n, k, kernel, padding=padding, device="meta"), rng)
        norm = [nn.BatchNorm2d(k)] if batch_norm else []
        parts += [conv, *norm, nn.ReLU()] if batch_norm == "before" else [conv, nn.ReLU(), *norm]
    top = drawn(nn.Linear(channels[-1] * left**2, outputs, device="meta"), rng)
    net = nn.Sequential(*parts, nn.Flatten(), top).to(dtype)
    return net.to(memory_format=torch.channels_last)  # pyrefly: ignore[no-matching-overload]


def check_images(channels: Sequence[int], side: int, outputs: int, kernel: int, padding: int = 0) -> int:
    """Check the sizes of a convolutional network and return the side of its last image.

    Args:
        channels: Number of channels of the images and of each convolution.
        side: Height and width of the images in pixels.
        outputs: Number of outputs.
        kernel: Height and width of the filters.
        padding: Number of rows and columns of zeros around the inputs of each convolution.
    """
    if len(channels) < 2 or any(not isinstance(n, int) or n < 1 for n in channels):
        raise UserError(
            f"expected the numbers of channels of the images and of at least one convolution, got {channels!r}: use "
            "positive integers such as (1, 64, 64)"
        )
    at_least(1, side=side, outputs=outputs, kernel=kernel)
    at_least(0, padding=padding)
    left = side - (len(channels) - 1) * (kernel - 1 - 2 * padding)
    if left < 1:
        raise UserError(
            f"expected images of at least {side - left + 1} × {side - left + 1} pixels for {len(channels) - 1} "
            f"convolutions with {kernel} × {kernel} filters, got {side} × {side}: use larger images, fewer "
            "convolutions or padding"
        )
    return left


def time_share(n: int, k: int) -> float:
    """Return how long training a convolution with its BatchNorm and ReLU takes per operation, for estimates.

    The unit is an operation of a matrix product in a fully connected network. Small convolutions take longer, mostly
    for the normalization, and large ones are fast. Fitted to times of 4 to 640 channels.

    Args:
        n: Number of input channels.
        k: Number of output channels.
    """
    size = (n * k) ** 0.5
    return 0.2 + 4 / size + 80 / size**2


def drawn(layer: Layer, rng: np.random.Generator) -> Layer:
    """Draw the parameters of a linear layer as PyTorch does: uniform, up to 1/√(number of inputs of a node).

    Args:
        layer: A linear layer or a convolution on the device "meta", so that PyTorch draws nothing. It is changed.
        rng: Random numbers.
    """
    bound = layer.weight[0].numel() ** -0.5
    for name, p in list(layer.named_parameters()):
        setattr(layer, name, nn.Parameter(torch.from_numpy(rng.uniform(-bound, bound, tuple(p.shape)))))
    return layer
