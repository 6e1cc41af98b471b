"""Teachers of Luck Matters: distinct filters of small entries, and random biases."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from relulab.core.seeds import Role, stream
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.filters import distinct_filters

ENTRIES = np.arange(-2, 3) / 4  # −0.5, −0.25, 0, 0.25, 0.5
LARGEST_BIAS = 0.5


def luck_teacher(widths: Sequence[int], *, seeds: Sequence[int], root: int = 0) -> MLP:
    """Draw random teachers of any depth, one per lane, in float64 (LM section 5.1).

    Filters have entries from {−0.5, −0.25, 0, 0.25, 0.5} and are scaled to norm one. They are not zero, and no two
    filters of a layer are co-linear. Biases are drawn from U[−0.5, 0.5] and are not adjusted to the inputs, so that in
    the upper layers of deep teachers a few nodes are never active.

    Args:
        widths: Number of units of each layer, from the inputs to the outputs: (d, …, C).
        seeds: One seed per lane. Lane i depends only on ``seeds[i]``.
        root: Root seed of all random streams.

    >>> t = luck_teacher((20, 50, 75, 10), seeds=[0, 1])
    >>> bool((t.W[1].norm(dim=1) - 1).abs().max() < 1e-15), bool(t.b[1].abs().max() <= 0.5)
    (True, True)
    """
    net = MLP(widths, lanes=len(seeds), dtype=torch.float64)
    for i, seed in enumerate(seeds):
        rng = stream(root, Role.TEACHER, seed)
        for l, (n, k) in enumerate(pairwise(widths)):
            W = distinct_filters(rng, n, k, ENTRIES).T
            net.W[l].data[i] = torch.from_numpy(W / np.linalg.norm(W, axis=0))
            net.b[l].data[i, 0] = torch.from_numpy(rng.uniform(-LARGEST_BIAS, LARGEST_BIAS, k))
    return net
