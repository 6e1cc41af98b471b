"""Orthogonal separability of the features of a network, layer by layer."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.hooks import activations, applied, fitted, layers_of, points
from relulab.nets.mlp import MLP
from relulab.subjects.bias.instruments.separability import Separability, separability


def feature_separability(
    net: nn.Module,
    X: Tensor | np.ndarray,
    y: Tensor | np.ndarray | Sequence,
    *,
    pairs: int = 10,
    subset: bool = True,
) -> dict[str, Separability]:
    """Apply ``separability`` to the points ("input") and to the features after every ReLU, by the name of the layer.

    Features have the precision of the network; those of an image are flattened. Features after a ReLU have no negative
    entries, so points with different labels satisfy eq. 1 only if no unit is active on both. A point on which all units
    are off is a zero point, which violates eq. 1.

    Args:
        net: An ``MLP`` with one lane, or any module whose ReLUs are modules.
        X: Points, (n, d), or images, (n, channels, height, width).
        y: Labels, (n,), with any two values.
        pairs: Number of worst pairs to return for each layer.
        subset: Whether to search for a separable subset.

    Returns:
        The result for every layer, by name, starting with "input".

    >>> net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1))
    >>> net[0].weight.data = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    >>> X = torch.tensor([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.0]])
    >>> {name: result.holds for name, result in feature_separability(net, X, [1, 1, -1]).items()}
    {'input': False, '1': True}
    """
    return {name: separability(f, y, pairs=pairs, subset=subset) for name, f in features(net, X).items()}


@torch.no_grad()
def features(net: nn.Module, X: Tensor | np.ndarray) -> dict[str, Float[Tensor, "N k"]]:
    """Return the points ("input") and the features after every ReLU, by name, flattened to one row per point.

    Args:
        net: An ``MLP`` with one lane, or any module whose ReLUs are modules.
        X: Points, (n, d), or images, (n, channels, height, width).
    """
    X = points(X)
    if not X.dim() or not X.numel():
        raise UserError(f"expected at least one point, got points of shape {tuple(X.shape)}: check the data")
    layers = {"input": X}
    if isinstance(net, MLP):
        if net.lanes != 1:
            raise UserError(f"expected one network, got {net.lanes} lanes: select one with net.lane(i)")
        if X.dim() != 2 or X.shape[1] != net.widths[0]:
            raise UserError(
                f"expected points of shape (n, {net.widths[0]}) for a network with {net.widths[0]} inputs, got shape "
                f"{tuple(X.shape)}"
            )
        layers |= {str(l): f[0] for l, f in enumerate(layers_of(net, X.to(net.dtype))[:-1], 1)}
    else:
        with activations(net) as relu_features:
            applied(net, fitted(net, X))
        layers |= relu_features
    for name, f in layers.items():
        if len(f) != len(X):
            raise UserError(f"expected one row per point, but ReLU {name} has {len(f)} rows for {len(X)} points")
    return {name: f.reshape(len(f), -1) for name, f in layers.items()}
