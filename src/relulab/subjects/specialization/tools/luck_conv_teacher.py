"""Convolutional teachers of Luck Matters: distinct filters of small entries, and random biases."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from relulab.core.seeds import Role, stream
from relulab.nets.conv_net import conv_net
from relulab.subjects.specialization.tools.filters import distinct_filters
from relulab.subjects.specialization.tools.luck_teacher import ENTRIES, LARGEST_BIAS


def luck_conv_teacher(
    channels: Sequence[int], side: int, outputs: int, *, seed: int = 0, root: int = 0, kernel: int = 3
) -> nn.Sequential:
    """Draw a random convolutional teacher in float32: unpadded convolutions, ReLUs, and a linear layer on top.

    Filters are drawn as those of ``luck_teacher`` (LM section 5.1): entries from {−0.5, −0.25, 0, 0.25, 0.5}, not zero,
    no two of a layer co-linear, scaled to norm one over all channels and pixels of a filter, and biases from
    U[−0.5, 0.5]. A channel is a node. It may never be active, as its bias is not adjusted to the inputs.

    Args:
        channels: Number of channels of the images and of each convolution: (1, 64, 64, 64).
        side: Height and width of the images in pixels.
        outputs: Number of outputs.
        seed: Seed of the teacher.
        root: Root seed of all random streams.
        kernel: Height and width of the filters.

    >>> t = luck_conv_teacher((1, 4, 6), 8, 10, seed=3)
    >>> bool((t[2].weight.flatten(1).norm(dim=1) - 1).abs().max() < 1e-6)
    True
    """
    net = conv_net(channels, side, outputs, kernel=kernel)
    rng = stream(root, Role.TEACHER, seed)
    for layer in net:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            W = distinct_filters(rng, layer.weight[0].numel(), len(layer.weight), ENTRIES)
            W = W / np.linalg.norm(W, axis=1, keepdims=True)
            layer.weight.data.copy_(torch.from_numpy(W).view_as(layer.weight))
            layer.bias = nn.Parameter(torch.from_numpy(rng.uniform(-LARGEST_BIAS, LARGEST_BIAS, len(W))).float())
    return net
