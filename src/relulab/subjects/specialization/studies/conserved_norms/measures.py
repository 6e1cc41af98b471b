"""Networks of the study, and how their weights move over a fixed time of gradient descent."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from relulab.core.angle import norms
from relulab.core.seeds import Role, stream
from relulab.subjects.specialization.theorems.conserved_norms import half_squares
from relulab.subjects.specialization.tools.batch_norm_nets import Order, convolutional, fully_connected
from relulab.subjects.specialization.tools.batch_statistics import SMALLEST
from relulab.subjects.specialization.tools.normalized_layers import (
    NORMS,
    as_rows,
    normalized_layers,
    sequential_parts,
)
from relulab.subjects.specialization.tools.weight_rates import descend

Network = Literal["one hidden layer", "three hidden layers", "two convolutions"]
NETWORKS: tuple[Network, ...] = ("one hidden layer", "three hidden layers", "two convolutions")
SIDE, CHANNELS, IMAGES = 8, (1, 6, 8), 8  # a batch has fewer images than points, because every position is a sample


@dataclass(frozen=True)
class Arm:
    """A way to train, and what w_j contains.

    Args:
        order: Where BatchNorm stands.
        with_bias: Whether w_j contains the bias.
        epsilon: ε of BatchNorm.
        weight_decay: Weight decay.
        stored: Whether BatchNorm uses stored statistics, those of the batch before training.
    """

    order: Order
    with_bias: bool = True
    epsilon: float = SMALLEST
    weight_decay: float = 0.0
    stored: bool = False


def arms(epsilon: float, weight_decay: float) -> dict[str, Arm]:
    """Return all ways to train by name.

    Args:
        epsilon: ε where it is not zero.
        weight_decay: Weight decay where it is not zero.
    """
    before, after = "before the ReLU", "after the ReLU"
    return {
        "before": Arm(before), "after": Arm(after), "none": Arm("no BatchNorm"),
        "without bias": Arm(after, with_bias=False), "epsilon": Arm(before, epsilon=epsilon),
        "weight decay": Arm(before, weight_decay=weight_decay), "stored": Arm(before, stored=True),
    }  # fmt: skip


def problem(network: Network, d: int, width: int, outputs: int, points: int, seed: int, root: int) -> tuple:
    """Return a function that makes the start of a network with a given order, points, and targets.

    Targets are the outputs of a random network of the same shape without BatchNorm, with mean 0 and variance 1. The
    start is the same for all orders but for BatchNorm.

    Args:
        network: Which of the three networks.
        d: Number of inputs of fully connected networks.
        width: Width of their hidden layers.
        outputs: Number of outputs.
        points: Number of points; images are fewer.
        seed: The seed.
        root: The root seed.
    """

    def start(order: Order, role: Role = Role.STUDENT) -> nn.Sequential:
        rng = stream(root, role, seed, NETWORKS.index(network))
        if network == "two convolutions":
            return convolutional(CHANNELS, SIDE, outputs, order, rng)
        return fully_connected((d, *[width] * (1 if network == "one hidden layer" else 3), outputs), order, rng)

    shape = (max(2, points // IMAGES), 1, SIDE, SIDE) if network == "two convolutions" else (points, d)
    x = torch.from_numpy(stream(root, Role.TRAIN, seed, NETWORKS.index(network)).standard_normal(shape))
    with torch.no_grad():
        y = start("no BatchNorm", Role.TEACHER)(x)
    return start, x, (y - y.mean(0)) / y.std(0)


def followed(start: nn.Sequential, arm: Arm, x: Tensor, y: Tensor, time: float, steps: int) -> dict[str, float]:
    """Train by gradient descent over a fixed time; measure how far the norms ‖w_j‖ drift and how far w_j turns.

    Args:
        start: The network at the start; a copy of it is trained.
        arm: How it is trained.
        x: Points.
        y: Targets.
        time: The time: the step size times the number of steps.
        steps: Number of steps.

    Returns:
        ``drift``: the mean of |‖w_j(T)‖/‖w_j(0)‖ − 1|; ``predicted``: the same if ‖w_j‖² grows by η² ‖ẇ_j‖² per step;
        ``turned``: the mean angle between w_j(T) and w_j(0) in radians; and the ``loss`` at the end.
    """
    net = _prepared(deepcopy(start), arm, x)
    layers = normalized_layers(sequential_parts(net), everywhere=True)
    before, eta = [layer.rows(arm.with_bias) for layer in layers], time / steps
    places = {id(p): i for i, p in enumerate(net.parameters())}
    squares = [torch.zeros(len(w), dtype=w.dtype) for w in before]

    def look(gradients: list[Tensor]) -> None:
        for layer, total in zip(layers, squares, strict=True):
            own = [gradients[places[id(p)]] for p in layer.parameters(arm.with_bias)]
            total += as_rows(own).square().sum(1)

    objective = half_squares(y)
    descend(net, x, objective, step=eta, steps=steps, weight_decay=arm.weight_decay, look=look)
    after = [layer.rows(arm.with_bias) for layer in layers]
    size, end, speed = (torch.cat(p) for p in ([norms(w) for w in before], [norms(w) for w in after], squares))
    cosine = torch.cat([(w * v).sum(1) for w, v in zip(before, after, strict=True)]) / (size * end)
    with torch.no_grad():
        loss = float(objective(net(x)))
    return {
        "drift": float((end / size - 1).abs().mean()),
        "predicted": float(((1 + eta**2 * speed / size.square()).sqrt() - 1).mean()),
        "turned": float(cosine.clamp(-1, 1).arccos().mean()),
        "loss": loss,
    }


def _prepared(net: nn.Sequential, arm: Arm, x: Tensor) -> nn.Sequential:
    """Set ε, and store the statistics of the batch where they are to be used."""
    for norm in (m for m in net if isinstance(m, NORMS)):
        norm.eps, norm.momentum = arm.epsilon, 1.0
    if arm.stored:
        with torch.no_grad():
            net(x)
        net.eval()
    return net
