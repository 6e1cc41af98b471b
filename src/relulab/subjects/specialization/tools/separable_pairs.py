"""Teachers and students for which the expectations of LM's Assumption 1 separate exactly."""

from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP

Pair = tuple[MLP, MLP, Float[Tensor, "N d"]]


def open_pair(rng: np.random.Generator, points: int = 60) -> Pair:
    """Return a teacher, a student and points at which all nodes of both are active, so that gates and β are constant.

    Args:
        rng: Random generator.
        points: Number of points.
    """
    x = torch.from_numpy(rng.standard_normal((points, 4)))
    nets = []
    for widths in ((4, 3, 5, 2), (4, 6, 4, 2)):
        net = _drawn(widths, rng, bias=True)
        for l in range(net.depth - 1):
            net.b[l].data[0, 0] += 0.5 - _before(net, x, l).amin(0)
        nets.append(net)
    return nets[0], nets[1], x


def mirrored_pair(rng: np.random.Generator, hidden: tuple[int, ...] = (4, 3), points: int = 60) -> Pair:
    """Return networks without biases whose gates change, and points x and −x.

    In the first layer, all weights of both networks are multiples of one vector w, of both signs. So a gate depends
    only on the sign of wᵀx, and products x_k x_k' are the same at x and −x: they separate. The weights of the other
    hidden layers are positive, so that their nodes are active at every point.

    Args:
        rng: Random generator.
        hidden: Widths of the hidden layers of the teacher; the student has two nodes more in each.
        points: Number of points, half of them −1 times the others.
    """
    half = torch.from_numpy(rng.standard_normal((points // 2, 4)))
    w = torch.from_numpy(rng.standard_normal((4, 1)))
    nets = []
    for more in (0, 2):
        net = _drawn((4, *(n + more for n in hidden), 2), rng, bias=False)
        factors = torch.from_numpy(rng.uniform(0.5, 2, hidden[0] + more))
        factors[::2] *= -1
        net.W[0].data[0] = w * factors
        for W in net.W[1:-1]:
            W.data.abs_()
        nets.append(net)
    return nets[0], nets[1], torch.cat([half, -half])


def _drawn(widths: tuple[int, ...], rng: np.random.Generator, bias: bool) -> MLP:
    net = MLP(widths, bias=bias, dtype=torch.float64)
    for l, (n, k) in enumerate(pairwise(widths)):
        net.W[l].data[0] = torch.from_numpy(rng.standard_normal((n, k)) / np.sqrt(n))
    return net


@torch.no_grad()
def _before(net: MLP, x: Tensor, l: int) -> Float[Tensor, "N n"]:
    """Return what the ReLUs of layer l + 1 receive."""
    below = net.layers(x)[l - 1] if l else x.unsqueeze(0)
    return (below @ net.W[l] + net.b[l])[0]
