"""Random initialization. Weights are drawn seed by seed in float64, so that a lane does not depend on other lanes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import torch

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.nets.batch_norm_mlp import BatchNormMLP, Order
from relulab.nets.mlp import MLP
from relulab.nets.residual import Residual

Net = TypeVar("Net", MLP, Residual)


def small_normal(
    widths: Sequence[int],
    seeds: Sequence[int],
    *,
    std: float = 0.005,
    root: int = 0,
    bias: bool = True,
    slope: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> MLP:
    """Create networks with weights from N(0, std²) and zero biases, as in the two-layer specialization studies.

    Args:
        widths: Number of units of each layer, from the inputs to the outputs: (d, …, C).
        seeds: One seed per lane. Lane i depends only on ``seeds[i]``, not on the other seeds.
        std: Standard deviation of the weights, at least 0.
        root: Root seed of all random streams.
        bias: Whether the layers have biases.
        slope: Slope of the leaky ReLU, from 0 (plain ReLU) to below 1.
        dtype: Data type of the weights.

    >>> float(small_normal((2, 3, 1), seeds=[7]).b[0].data.abs().max())
    0.0
    """
    at_least(0, std=std)
    net = MLP(widths, lanes=len(seeds), bias=bias, slope=slope, dtype=dtype)
    return _filled(net, seeds, root, lambda rng, shape: (rng.normal(scale=std, size=shape), None))


def torch_default(
    widths: Sequence[int],
    seeds: Sequence[int],
    *,
    factor: float = 1.0,
    root: int = 0,
    bias: bool = True,
    slope: float = 0.0,
    batch_norm: Order | None = None,
    dtype: torch.dtype = torch.float32,
) -> MLP:
    """Create networks with weights and biases from U[−1/√n, 1/√n], n the fan-in, as ``nn.Linear`` does, times a factor.

    Args:
        widths: Number of units of each layer, from the inputs to the outputs: (d, …, C).
        seeds: One seed per lane. Lane i depends only on ``seeds[i]``, not on the other seeds.
        factor: Factor that multiplies all weights and biases, at least 0.
        root: Root seed of all random streams.
        bias: Whether the layers have biases.
        slope: Slope of the leaky ReLU, from 0 (plain ReLU) to below 1.
        batch_norm: "after" or "before" creates a ``BatchNormMLP`` with the same weights and BatchNorm after or before
            every ReLU; None creates an ``MLP``.
        dtype: Data type of the weights.

    >>> float(torch_default((4, 100, 1), seeds=[0]).W[0].data.abs().max()) <= 0.5
    True
    """
    at_least(0, factor=factor)
    shape = {"lanes": len(seeds), "bias": bias, "slope": slope, "dtype": dtype}
    net = MLP(widths, **shape) if batch_norm is None else BatchNormMLP(widths, order=batch_norm, **shape)
    return _filled(net, seeds, root, partial(_linear, factor))


def residual_default(
    widths: Sequence[int],
    seeds: Sequence[int],
    *,
    depth: int,
    factor: float = 1.0,
    root: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Residual:
    """Create residual networks with the initialization of ``torch_default``, without biases.

    Args:
        widths: Number of inputs, width of the hidden layers, and number of outputs: (d, p, C).
        seeds: One seed per lane. Lane i depends only on ``seeds[i]``, not on the other seeds.
        depth: Number of weight matrices, at least 2.
        factor: Factor that multiplies all weights, at least 0.
        root: Root seed of all random streams.
        dtype: Data type of the weights.

    >>> [tuple(W.shape) for W in residual_default((3, 5, 1), seeds=[0, 1], depth=3).W]
    [(2, 3, 5), (2, 5, 5), (2, 5, 1)]
    """
    at_least(0, factor=factor)
    net = Residual(widths, depth=depth, lanes=len(seeds), dtype=dtype)
    return _filled(net, seeds, root, partial(_linear, factor))


def _linear(factor: float, rng: np.random.Generator, shape: tuple[int, int]):
    bound = factor * shape[0] ** -0.5
    return rng.uniform(-bound, bound, size=shape), rng.uniform(-bound, bound, size=shape[1])


def balanced(widths: Sequence[int], seeds: Sequence[int], *, size: float = 1e-8, root: int = 0) -> MLP:
    r"""Create balanced two-layer networks: ‖w_j‖ = |a_j| = ``size`` for every neuron j (IB section 2).

    The networks have no biases and are in float64. The directions of w_j are uniform on the sphere, and a_j is positive
    or negative with probability ½ each.

    Args:
        widths: Number of inputs, number of neurons, and one output: (d, p, 1).
        seeds: One seed per lane. Lane i depends only on ``seeds[i]``, not on the other seeds.
        size: The norm ‖w_j‖ and absolute value |a_j| of every neuron, above 0.
        root: Root seed of all random streams.

    >>> net = balanced((3, 5, 1), seeds=[0])
    >>> bool((net.W[0].data.norm(dim=1) - net.W[1].data[..., 0].abs()).abs().max() < 1e-22)
    True
    """
    if len(widths) != 3 or widths[2] != 1 or not size > 0:
        raise UserError(
            f"expected widths (d, p, 1) and a positive size for a balanced network, got widths={tuple(widths)} and "
            f"size={size}: use two layers with one output"
        )
    net = MLP(widths, lanes=len(seeds), bias=False, dtype=torch.float64)
    for i, seed in enumerate(seeds):
        rng = stream(root, Role.STUDENT, seed)
        v = rng.standard_normal((widths[1], widths[0]))
        net.W[0].data[i] = torch.from_numpy(size * v / np.linalg.norm(v, axis=1, keepdims=True)).T
        net.W[1].data[i, :, 0] = torch.from_numpy(size * rng.choice((-1.0, 1.0), widths[1]))
    return net


def _filled(net: Net, seeds: Sequence[int], root: int, draw: Callable) -> Net:
    for i, seed in enumerate(seeds):
        rng = stream(root, Role.STUDENT, seed)
        for l, W in enumerate(net.W):
            weights, biases = draw(rng, tuple(W.shape[1:]))
            W.data[i] = torch.from_numpy(weights)
            if biases is not None and isinstance(net, MLP) and net.bias:
                net.b[l].data[i, 0] = torch.from_numpy(biases)
    return net
