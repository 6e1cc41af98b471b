"""Teachers: distinct unit-norm filters, active on about half of the inputs, with strengths that fall as 1/j^p."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float64

from relulab.core.errors import UserError, nearest
from relulab.core.seeds import Role, stream
from relulab.data.inputs import Inputs
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.filters import distinct_filters

GRID = np.arange(-4, 5) / 4  # −1, −0.75, …, 1
MEDIAN_SAMPLE = 10_000


def teacher(
    widths: Sequence[int],
    *,
    seeds: Sequence[int],
    polarity: float | Sequence[float] = 0.0,
    bias: float | Literal["median"] = -0.1,
    fan_out: Literal["released", "exact"] = "released",
    inputs: Inputs | None = None,
    root: int = 0,
    slope: float = 0.0,
) -> MLP:
    r"""Draw random teachers, one per lane, in float64. Lane i uses the random streams of ``seeds[i]`` and polarity p_i.

    Filters are drawn from the grid {−1, −0.75, …, 1} and scaled to norm one. No two filters of a hidden layer are
    co-linear. In every layer of weights except the first, the strength of node j falls as ‖v*_j‖ ~ 1/j^p,
    j = 1, 2, … (SS eq. 10).

    Args:
        widths: Number of units of each layer, starting with the inputs: (d, …, C).
        seeds: One seed per lane.
        polarity: The power p, one number for all lanes or one per lane. With 0, all nodes are about equally strong.
        bias: A number is the bias of every node and output. The authors ran −0.1, with which nodes are active on 47% of
            inputs from N(0, 1.5² I), d = 100. "median" sets each hidden bias to minus the median pre-activation on
            10,000 draws of ``inputs``, so that each node is active on half of them, and output biases to 0, as printed
            in SS appendix F.
        fan_out: "released" divides row j of the grid weights by j^p, so that the law holds up to the norms of the rows.
            "exact" scales the rows to norm one first. In both cases hidden filters are scaled to norm one afterward.
        inputs: Distribution of the inputs, required by ``bias="median"`` and otherwise None.
        root: Root of all random streams.
        slope: Slope of the leaky ReLU for negative values, from 0 (plain ReLU) to below 1.

    >>> t = teacher((10, 4, 3), seeds=[0, 0], polarity=[0, 1])
    >>> bool((t.W[0].data[0] == t.W[0].data[1]).all()), round(float(t.W[1].data[1, 3, 0] / t.W[1].data[0, 3, 0]), 6)
    (True, 0.25)
    """
    _validate(widths, seeds, polarity, bias, fan_out, inputs)
    net = MLP(widths, lanes=len(seeds), slope=slope, dtype=torch.float64)
    for i, (seed, p) in enumerate(zip(seeds, np.broadcast_to(polarity, len(seeds)), strict=True)):
        rng = stream(root, Role.TEACHER, seed)
        for l, (n, k) in enumerate(pairwise(widths)):
            top = l + 1 == net.depth
            W = distinct_filters(rng, n, k, GRID, distinct=not top).T
            if l:
                W = _fan_out(rng, W)
                W = W / np.linalg.norm(W, axis=1, keepdims=True) if fan_out == "exact" else W
                W = W / (np.arange(1, n + 1) ** float(p))[:, None]
            if not top:
                W = W / np.linalg.norm(W, axis=0)
            net.W[l].data[i] = torch.from_numpy(W)
    if bias == "median":
        assert inputs is not None
        _center(net, inputs, seeds, root)
    else:
        for b in net.b:
            b.data.fill_(bias)
    return net


def _validate(widths, seeds, polarity, bias, fan_out, inputs) -> None:
    if bias == "median" and inputs is None:
        raise UserError("bias='median' needs the distribution of the inputs: pass inputs=Gaussian(d, std)")
    if isinstance(bias, str) and bias != "median":
        raise UserError(f"expected bias to be a number or 'median', got {bias!r}")
    if fan_out not in ("released", "exact"):
        raise UserError(f"unknown fan_out {fan_out!r}: {nearest(str(fan_out), ('released', 'exact'))}")
    if inputs is not None and inputs.d != widths[0]:
        raise UserError(f"inputs have dimension {inputs.d}, but the teacher has {widths[0]} inputs: they must agree")
    if np.size(polarity) not in (1, len(seeds)):
        raise UserError(f"got {np.size(polarity)} polarities for {len(seeds)} seeds: expected one, or one per seed")


def _fan_out(rng: np.random.Generator, W: Float64[np.ndarray, "n k"]) -> Float64[np.ndarray, "n k"]:
    """Redraw zero rows of W, since a node without output weights cannot be learned."""
    W = W.copy()
    for row in W:
        while not row.any():
            row[:] = rng.choice(GRID, size=len(row))
    return W


@torch.no_grad()
def _center(net: MLP, inputs: Inputs, seeds: Sequence[int], root: int) -> None:
    """Set the biases, layer by layer, so that every hidden unit is active on half of the inputs."""
    for i, seed in enumerate(seeds):
        x = torch.from_numpy(inputs.draw(stream(root, Role.TEACHER, seed, 1), MEDIAN_SAMPLE))
        below = x
        for W, b in zip(net.W[:-1], net.b[:-1], strict=True):
            z = below @ W[i]
            b[i, 0] = -z.quantile(0.5, dim=0)
            below = torch.nn.functional.leaky_relu(z + b[i], net.slope)
