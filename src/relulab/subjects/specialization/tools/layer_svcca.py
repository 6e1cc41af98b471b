"""SVCCA of two networks layer by layer, with the values that arise by chance."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.core.seeds import Role, stream
from relulab.nets.hooks import hidden
from relulab.subjects.specialization.instruments.correlation import paired_layers
from relulab.subjects.specialization.instruments.svcca import Canonical, canonical, kept_directions
from relulab.subjects.specialization.tools.chance import shuffled


class LayerSvcca(NamedTuple):
    """Canonical correlations of a pair of layers, and the mean canonical correlations of two kinds of chance.

    Attributes:
        found: The canonical correlations.
        random_points: Mean canonical correlations with the points of B in random order, (draws, …). They are large if
            there are few points for the number of directions.
        random_weights: Mean canonical correlations with the weights of B in random order, (draws, …). They are larger,
            because both layers still see the same inputs.
    """

    found: Canonical
    random_points: Float[Tensor, "draws *lane"]
    random_weights: Float[Tensor, "draws *lane"]


def layer_svcca(
    a: nn.Module,
    b: nn.Module,
    x: Tensor,
    layers: Sequence[tuple[str, str]] | None = None,
    *,
    variance: float = 0.99,
    draws: int = 10,
    root: int = 0,
) -> dict[str, LayerSvcca]:
    """Compute ``svcca`` of two networks in each hidden layer, and the same by chance.

    Args:
        a: A network.
        b: Another network.
        x: Points, (N, d).
        layers: Pairs of layers, as in ``layer_correlations``.
        variance: Share of the variance of each layer to keep, above 0 and at most 1.
        draws: Number of random orders, at least 0.
        root: Root seed of the random orders.

    >>> net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).double()
    >>> x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> round(float(layer_svcca(net, net, x, draws=2)["1"].found.mean), 6)
    1.0
    """
    if draws < 0 or not 0 < variance <= 1:
        raise UserError(
            f"expected at least 0 draws and a share of the variance above 0 and at most 1, got draws={draws} and "
            f"variance={variance}: such as 10 and 0.99"
        )
    f_a = hidden(a, x)

    def directions(net: nn.Module) -> dict[str, Tensor]:
        return {name: _directions(f_b, variance) for name, _, f_b in paired_layers(f_a, hidden(net, x), layers)}

    U_a = {name: _directions(one, variance) for name, one, _ in paired_layers(f_a, hidden(b, x), layers)}
    U_b = directions(b)
    points: dict[str, list[Tensor]] = {name: [] for name in U_b}
    weights: dict[str, list[Tensor]] = {name: [] for name in U_b}
    for draw in followed(range(draws), "comparing with random weights"):
        rng = stream(root, Role.CHANCE, draw)
        for name, U in directions(shuffled(b, rng)).items():
            order = torch.from_numpy(rng.permutation(U.shape[-2])).to(U.device)
            weights[name].append(canonical(U_a[name], U).mean)
            points[name].append(canonical(U_a[name], U_b[name].index_select(-2, order)).mean)
    return {
        name: LayerSvcca(canonical(U_a[name], U), _stacked(points[name], U), _stacked(weights[name], U))
        for name, U in U_b.items()
    }


def _directions(f: Tensor, variance: float) -> Tensor:
    return kept_directions(f.double(), variance)


def _stacked(means: list[Tensor], like: Tensor) -> Tensor:
    return torch.stack(means) if means else like.new_empty(0)
