"""Orthogonal separability of what the layers of a network make of the points."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.hooks import fitted, points, rectifiers
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
    """``separability`` of the points themselves ("input"), then of the features after every ReLU, by the layer's name.

    Features are in the network's own precision; a picture's activations are one long vector. ReLU features have no
    negative entries, so points of different labels keep eq. (1) only where their active units are disjoint; a point
    that no unit sees is a zero point, and breaks it.

    Args:
        net: An ``MLP`` of one lane, or any module whose ReLUs are modules.
        X: Points, (n, d), or pictures, (n, channels, height, width).
        y: Labels, (n,), of any two values.
        pairs: How many of the worst pairs are given for each layer.
        subset: Whether a separable subset is looked for.

    >>> net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1))
    >>> net[0].weight.data = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    >>> X = torch.tensor([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.0]])
    >>> {name: found.holds for name, found in feature_separability(net, X, [1, 1, -1]).items()}
    {'input': False, '1': True}
    """
    return {name: separability(f, y, pairs=pairs, subset=subset) for name, f in features(net, X).items()}


@torch.no_grad()
def features(net: nn.Module, X: Tensor | np.ndarray) -> dict[str, Float[Tensor, "N k"]]:
    """The points ("input") and what every ReLU makes of them, by name, a point a row, pictures as long vectors."""
    X = points(X)
    found = {"input": X}
    if isinstance(net, MLP):
        if net.lanes != 1:
            raise UserError(f"{net.lanes} networks side by side: take one of them with net.lane(i)")
        if X.dim() != 2 or X.shape[1] != net.widths[0]:
            raise UserError(f"points of shape {tuple(X.shape)} for a network of {net.widths[0]} inputs")
        found |= {str(l): f[0] for l, f in enumerate(net.layers(X.to(net.dtype))[:-1], 1)}
    else:
        with rectifiers(net) as seen:
            try:
                net(fitted(net, X))
            except RuntimeError as error:
                reason = str(error).strip().splitlines()[0]
                raise UserError(
                    f"{type(net).__name__} does not take points of shape {tuple(X.shape)}: {reason}"
                ) from None
        found |= seen
    for name, f in found.items():
        if len(f) != len(X):
            raise UserError(f"ReLU {name} put out {len(f)} rows for {len(X)} points: one a point is needed")
    return {name: f.reshape(len(f), -1) for name, f in found.items()}
