"""Pictures of CIFAR-10 for the studies: drawn for each seed, reduced and standardized, and networks trained on them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.seeds import Role, stream
from relulab.data.cifar import cifar
from relulab.data.tensor_task import TensorTask
from relulab.nets.conv_net import conv_net
from relulab.subjects.specialization.tools.agreement import outputs
from relulab.train.fit import fit
from relulab.train.optimizers import SGD
from relulab.train.schedules import Cosine

CLASSES = 10


class Pictures(NamedTuple):
    """Standardized pictures and their classes."""

    x: Float[Tensor, "N 3 side side"]
    y: Tensor


def pictures(seed: int, *, n_train: int, n_held_out: int, reduced: int, root: int) -> tuple[Pictures, Pictures]:
    """Return the training and the held-out pictures of a seed.

    Args:
        seed: The seed.
        n_train: Number of training pictures.
        n_held_out: Number of held-out pictures.
        reduced: Factor by which pictures are reduced, by averaging squares of pixels.
        root: Root seed of all random streams.
    """
    train, held_out = cifar(10, "train"), cifar(10, "held out")
    found = []
    for part, role, n in ((train, Role.TRAIN, n_train), (held_out, Role.HELD_OUT, n_held_out)):
        rows = np.sort(stream(root, role, seed).permutation(len(part.labels))[:n])
        x = part._replace(images=part.images[rows]).standardized(train)
        x = nn.functional.avg_pool2d(x, reduced).contiguous(memory_format=torch.channels_last)
        found.append(Pictures(x, torch.from_numpy(part.labels[rows].astype(np.int64))))
    return found[0], found[1]


def picture_net(widths: Sequence[int], side: int, *, seed: int = 0, root: int = 0, norm: bool = True) -> nn.Sequential:
    """Return an untrained convolutional network for pictures.

    Args:
        widths: Numbers of channels of the convolutions.
        side: Height and width of the pictures.
        seed: Seed of the weights.
        root: Root seed of all random streams.
        norm: Whether it has BatchNorm, before the ReLU.
    """
    return conv_net((3, *widths), side, CLASSES, seed=seed, root=root, batch_norm="before" if norm else None)


def train_on_classes(
    net: nn.Module, on: Pictures, *, seed: int, root: int, epochs: int, lr: float, momentum: float, batch: int,
    tick: Callable[[int], object],
) -> None:  # fmt: skip
    """Train a network on the classes of pictures, by SGD with a learning rate that falls to 0 along a cosine.

    Args:
        net: The network. It is changed.
        on: The pictures.
        seed: Seed of the order of the pictures.
        root: Root seed of all random streams.
        epochs: Number of passes over the pictures.
        lr: Learning rate at the start.
        momentum: Momentum of SGD.
        batch: Pictures per step.
        tick: Function that is told the number of new steps.
    """
    task = TensorTask(on.x, on.y, seed=seed, root=root, classes=CLASSES)
    fit(net, task, epochs=epochs, batch=batch, optimizer=SGD(lr, momentum), schedule=Cosine(epochs), tick=tick)


def accuracy(net: nn.Module, of: Pictures) -> float:
    """Return the share of pictures whose class has the largest output.

    Args:
        net: The network.
        of: The pictures.
    """
    return float((outputs(net, of.x).argmax(1) == of.y).double().mean())
