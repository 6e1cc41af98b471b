"""Both sides of LM's Assumption 1 for single index quadruples (j, j°, k, k°)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.subjects.specialization.tools.streamed_means import Network, blocks_of

Picks = list[tuple[Int[Tensor, " _"], Int[Tensor, " _"], Int[Tensor, " _"], Int[Tensor, " _"]]]
"""for each hidden layer l: nodes of layer l of a and of b, and nodes of layer l − 1 of a and of b"""


class Entries(NamedTuple):
    """The two sides of eq. 4 or 5 in one hidden layer; rows are pairs (j, j°), columns pairs (k, k°).

    Attributes:
        together: E[β_{jj°} f'_j f'_{j°} f_k f_{k°}].
        separated: E[β_{jj°}] E[f'_j f'_{j°}] E[f_k f_{k°}].
    """

    together: Float[Tensor, "ji kh"]
    separated: Float[Tensor, "ji kh"]


def picked(
    a: Network, b: Network, biases: tuple[bool, bool], most: int | None, rng: np.random.Generator
) -> tuple[Picks, bool]:
    """Choose nodes of every hidden layer and of the layer below, and say whether these are all nodes.

    Args:
        a: The network whose gradient is meant.
        b: The same or another network.
        biases: Whether the bias units of a and of b count as nodes: not in networks without biases.
        most: Largest number of nodes per layer and network, drawn at random; None for all.
        rng: Random generator.
    """

    def some(net: Network, l: int, with_bias: bool) -> Tensor:
        count = net.W[l].shape[0] - (not with_bias)
        if most is None or count <= most:
            return torch.arange(count)
        nonlocal complete
        complete = False
        return torch.from_numpy(np.sort(rng.choice(count, most, replace=False)))

    complete, picks = True, []
    for l in range(1, a.depth):
        # The bias unit of a has no gradient of its own, but its weights, the biases, have one.
        picks.append((some(a, l, False), some(b, l, biases[1]), some(a, l - 1, biases[0]), some(b, l - 1, biases[1])))
    return picks, complete


@torch.no_grad()
def separated_entries(a: Network, b: Network, x: Float[Tensor, "N d"], picks: Picks) -> list[Entries]:
    """Compute both sides of the assumption for all combinations of some nodes, in every hidden layer.

    Args:
        a: The network whose gradient is meant.
        b: The same or another network with the same inputs, outputs and depth.
        x: Points, (N, d), in float64.
        picks: The nodes.
    """
    shapes = [[len(part) for part in nodes] for nodes in picks]
    sums = [
        (x.new_zeros(j * i, k * h), x.new_zeros(j * i), x.new_zeros(j * i), x.new_zeros(k * h)) for j, i, k, h in shapes
    ]
    rows = max(a.W[-1].shape[1], *(max(j * i, k * h) // a.W[0].shape[0] for j, i, k, h in shapes))
    for part in blocks_of(x, a, b, rows=rows):
        (f, D), (f_star, D_star) = a.run(part), b.run(part)
        V, V_star = _columns(a, D, [nodes[0] for nodes in picks]), _columns(b, D_star, [nodes[1] for nodes in picks])
        for l, (j, i, k, h) in enumerate(picks, 1):
            beta = (V[l - 1].mT @ V_star[l - 1]).flatten(1)
            gates = (D[l][:, j, None] * D_star[l][:, None, i]).flatten(1)
            below = (f[l - 1][:, k, None] * f_star[l - 1][:, None, h]).flatten(1)
            sums[l - 1][0].addmm_((beta * gates).T, below)
            for total, values in zip(sums[l - 1][1:], (beta, gates, below), strict=True):
                total += values.sum(0)
    found = []
    for together, *parts in sums:
        beta, gates, below = (part / len(x) for part in parts)
        found.append(Entries(together / len(x), torch.outer(beta * gates, below)))
    return found


def _columns(net: Network, D: list[Tensor], nodes: Sequence[Tensor]) -> list[Float[Tensor, "N C _"]]:
    """Return the columns of V_l that belong to some nodes, for l = 1, …, L − 1."""
    found: list[Tensor] = []
    V = net.W[-1].T.expand(len(D[0]), -1, -1)
    for l in range(net.depth - 1, 0, -1):
        found.insert(0, V[:, :, nodes[l - 1]])
        if l > 1:
            V = (V * D[l].unsqueeze(1)) @ net.W[l - 1].T
    return found
