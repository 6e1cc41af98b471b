"""Random starts, drawn seed by seed in float64 so that a lane does not depend on its neighbours."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from relulab.nets.mlp import MLP
from relulab.seeds import Role, stream


def small_normal(widths: Sequence[int], seeds: Sequence[int], *, std: float = 0.005, root: int = 0, **options) -> MLP:
    """All weights N(0, std²), biases zero: the start of the two-layer specialisation studies.

    >>> float(small_normal((2, 3, 1), seeds=[7]).b[0].data.abs().max())
    0.0
    """
    return _drawn(widths, seeds, root, lambda rng, shape: (rng.normal(scale=std, size=shape), None), **options)


def torch_default(widths: Sequence[int], seeds: Sequence[int], *, root: int = 0, **options) -> MLP:
    """Weights and biases U[−1/√n, 1/√n] with n the fan-in: what ``nn.Linear`` does by itself."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]):
        bound = shape[0] ** -0.5
        return rng.uniform(-bound, bound, size=shape), rng.uniform(-bound, bound, size=shape[1])

    return _drawn(widths, seeds, root, draw, **options)


def _drawn(widths: Sequence[int], seeds: Sequence[int], root: int, draw: Callable, **options) -> MLP:
    net = MLP(widths, lanes=len(seeds), **options)
    for i, seed in enumerate(seeds):
        rng = stream(root, Role.STUDENT, seed)
        for W, b in zip(net.W, net.b, strict=True):
            weights, biases = draw(rng, tuple(W.shape[1:]))
            W.data[i] = torch.from_numpy(weights)
            if biases is not None and net.bias:
                b.data[i, 0] = torch.from_numpy(biases)
    return net
