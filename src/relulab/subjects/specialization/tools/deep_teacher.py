"""Teachers of the deep studies: every node is active on exactly half of the points, and outputs are standardized."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, check_seeds, stream
from relulab.data.inputs import Gaussian, Inputs
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.filters import distinct_filters
from relulab.subjects.specialization.tools.teacher import GRID


def deep_teacher(
    widths: Sequence[int],
    *,
    seeds: Sequence[int],
    polarity: float | Sequence[float] = 0.0,
    inputs: Inputs | None = None,
    n_held_out: int = 10_240,
    root: int = 0,
) -> MLP:
    r"""Draw random teachers with half-active nodes, one per lane, in float64 (SS appendix F).

    Filters have entries from {−1, −0.75, …, 1}. They are not zero, and no two filters of a layer are co-linear. Above
    the first layer, the weights of input i = 0, 1, … of each layer are divided by (1 + i)^p (SS eq. 10), and then all
    filters are scaled to norm one. Layer by layer, the bias of a node is minus the median of its input over the
    held-out points, so that it is active on exactly half of them. (In very narrow teachers, a node may receive the same
    value at many points, where all nodes below are inactive; then it may be active on fewer.) Outputs are shifted and
    scaled to mean 0 and standard deviation 1 over these points: a constant student has a mean squared error of at least
    1.

    The held-out points are those of ``Task`` with the same seeds, inputs, ``n_held_out`` and root.

    Args:
        widths: Number of units of each layer, from the inputs to the outputs: (d, …, C).
        seeds: One seed per lane. Lane i depends only on ``seeds[i]`` and its polarity.
        polarity: The power p, one number for all lanes or one per lane. With 0, all nodes are about equally strong.
        inputs: Distribution of the inputs. Default: N(0, 10² I).
        n_held_out: Number of held-out points, at least 2.
        root: Root seed of all random streams.

    >>> t = deep_teacher((20, 6, 8, 3), seeds=[0, 1], n_held_out=100)
    >>> x = torch.from_numpy(Gaussian(20, 10).draw(stream(0, Role.HELD_OUT, 1, 0), 100))
    >>> (t.lane(1).layers(x)[1] > 0).double().mean(1).tolist()
    [[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]]
    """
    inputs = Gaussian(widths[0], 10.0) if inputs is None and len(widths) else inputs
    _validate(widths, seeds, polarity, inputs, n_held_out, root)
    assert inputs is not None
    net = MLP(widths, lanes=len(seeds), dtype=torch.float64)
    for i, (seed, p) in enumerate(zip(seeds, np.broadcast_to(polarity, len(seeds)), strict=True)):
        rng = stream(root, Role.TEACHER, seed)
        for l, (n, k) in enumerate(pairwise(widths)):
            W = distinct_filters(rng, n, k, GRID).T
            if l:
                W = W / (np.arange(1, n + 1) ** float(p))[:, None]
            net.W[l].data[i] = torch.from_numpy(W / np.linalg.norm(W, axis=0))
        _tune(net, i, inputs.draw(stream(root, Role.HELD_OUT, seed, 0), n_held_out))
    return net


@torch.no_grad()
def _tune(net: MLP, lane: int, points: Float64[np.ndarray, "N d"]) -> None:
    """Set all biases of a lane, and scale its outputs."""
    f: Tensor = torch.from_numpy(points)
    for W, b in zip(net.W[:-1], net.b[:-1], strict=True):
        z = f @ W[lane]
        b[lane, 0] = -z.quantile(0.5, dim=0)
        f = (z + b[lane]).relu()
    y = f @ net.W[-1][lane]
    std = y.std(0, correction=0)
    net.W[-1].data[lane] /= std
    net.b[-1].data[lane, 0] = -y.mean(0) / std


def _validate(widths, seeds, polarity, inputs, n_held_out, root) -> None:
    if len(widths) < 3:
        raise UserError(f"expected teachers with a hidden layer, got widths={tuple(widths)}: add a width")
    check_seeds(root, seeds)
    at_least(2, n_held_out=n_held_out)
    if inputs.d != widths[0]:
        raise UserError(f"inputs have dimension {inputs.d}, but the teacher has {widths[0]} inputs: they must agree")
    if np.size(polarity) not in (1, len(seeds)):
        raise UserError(f"got {np.size(polarity)} polarities for {len(seeds)} seeds: expected one, or one per seed")
