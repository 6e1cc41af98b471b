"""Correlations by chance: those with a network whose weights say nothing about the task."""

from collections.abc import Sequence
from copy import deepcopy

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.core.seeds import Role, stream
from relulab.subjects.specialization.instruments.correlation import layer_correlations


def shuffled(net: nn.Module, rng: np.random.Generator) -> nn.Module:
    """Return a copy of a network with the entries of each parameter in random order.

    The copy has the same distribution of weights in each layer, but none of the learned structure.

    Args:
        net: Any module. It is not changed.
        rng: The random generator.

    >>> net = nn.Linear(2, 3)
    >>> other = shuffled(net, np.random.default_rng(0))
    >>> bool((other.weight.sort().values.sum() - net.weight.sum()).abs() < 1e-6)
    True
    """
    copy = deepcopy(net)
    with torch.no_grad():
        for p in copy.parameters():
            order = torch.from_numpy(rng.permutation(p.numel())).to(p.device)
            p.copy_(p.flatten()[order].view_as(p))
    return copy


def chance_correlations(
    a: nn.Module,
    b: nn.Module,
    x: Tensor,
    *,
    draws: int = 10,
    layers: Sequence[tuple[str, str]] | None = None,
    root: int = 0,
) -> dict[str, Float[Tensor, "draws *lane m"]]:
    """Return the best correlation of each unit of A with a unit of B after the weights of B were shuffled.

    Units of A that reach no higher correlation with the real B have found no partner there, however high that
    correlation is: on clustered data, random units correlate too.

    Args:
        a: A network.
        b: Another network, whose weights are shuffled.
        x: Points, (N, d).
        draws: Number of shuffled networks, at least 1.
        layers: Pairs of layers to compare, as in ``layer_correlations``.
        root: Root seed of the shuffles.

    Returns:
        The best correlations by layer, (draws, m) or (draws, lane, m).
    """
    if draws < 1:
        raise UserError(f"expected at least one draw, got {draws}: choose a number such as 10")
    best: dict[str, list[Tensor]] = {}
    for draw in followed(range(draws), "comparing with random weights"):
        rho = layer_correlations(a, shuffled(b, stream(root, Role.CHANCE, draw)), x, layers)
        for name, matrix in rho.items():
            best.setdefault(name, []).append(matrix.amax(-1))
    return {name: torch.stack(values) for name, values in best.items()}
