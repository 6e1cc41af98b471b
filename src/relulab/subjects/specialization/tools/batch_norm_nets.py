"""Random sequential networks with BatchNorm before or after the ReLU, or without it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from torch import nn

from relulab.nets.conv_net import drawn
from relulab.subjects.specialization.tools.batch_statistics import SMALLEST
from relulab.subjects.specialization.tools.normalized_layers import Linear

Order = Literal["before the ReLU", "after the ReLU", "no BatchNorm"]
NORMS = {2: nn.BatchNorm1d, 4: nn.BatchNorm2d}


def fully_connected(
    widths: Sequence[int], order: Order, rng: np.random.Generator, *, bias: bool = True, bare: int = 0
) -> nn.Sequential:
    """Return a fully connected ReLU network in float64, with BatchNorm in its hidden layers.

    Args:
        widths: Number of inputs, of units of all hidden layers, and of outputs.
        order: Where BatchNorm stands.
        rng: Random numbers.
        bias: Whether linear layers have biases.
        bare: Number of upper hidden layers without BatchNorm.
    """
    linears = [nn.Linear(m, n, bias=bias, device="meta") for m, n in pairwise(widths)]
    hidden = [drawn(linear, rng) for linear in linears]
    normed = len(hidden) - 1 - bare
    parts = [m for l, linear in enumerate(hidden[:-1]) for m in _layer(linear, order if l < normed else "no BatchNorm")]
    return nn.Sequential(*parts, hidden[-1])


def convolutional(
    channels: Sequence[int], side: int, outputs: int, order: Order, rng: np.random.Generator, *, kernel: int = 3
) -> nn.Sequential:
    """Return a network of unpadded convolutions and a linear layer on top in float64, with BatchNorm.

    Args:
        channels: Number of channels of the images and of all convolutions.
        side: Width and height of the images.
        outputs: Number of outputs.
        order: Where BatchNorm stands.
        rng: Random numbers.
        kernel: Width and height of the filters.
    """
    parts = [
        m for a, b in pairwise(channels) for m in _layer(drawn(nn.Conv2d(a, b, kernel, device="meta"), rng), order)
    ]
    left = side - (len(channels) - 1) * (kernel - 1)
    top = nn.Linear(channels[-1] * left**2, outputs, device="meta")
    return nn.Sequential(*parts, nn.Flatten(), drawn(top, rng))


def _layer(linear: Linear, order: Order) -> list[nn.Module]:
    norm = NORMS[linear.weight.dim()](len(linear.weight), eps=SMALLEST, dtype=torch.float64)
    if order == "no BatchNorm":
        return [linear, nn.ReLU()]
    return [linear, norm, nn.ReLU()] if order == "before the ReLU" else [linear, nn.ReLU(), norm]
