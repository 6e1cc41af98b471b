"""Data that leave orthogonal separability step by step: by a small change of all points, or a large one of a point."""

import numpy as np
import torch
from torch.nn.functional import normalize

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled


def shifted(data: Labeled, shift: float) -> Labeled:
    """Add the same vector to all points: x_i + shift · z with z = [1, −1, …, 1, −1].

    A longer shift makes inner products of different classes positive, one pair after the other. If d is even, the
    vector of ones is orthogonal to z, so points in opposite orthants stay linearly separable.

    Args:
        data: Points in opposite orthants with zᵀx ≥ 0, such as those of ``OppositeOrthants``.
        shift: Length of the shift along each coordinate.

    >>> data = Labeled(torch.tensor([[2.0, 1.0], [-1.0, -2.0]]).double(), torch.tensor([1.0, -1.0]).double())
    >>> shifted(data, 3.0).X.tolist()
    [[5.0, -2.0], [2.0, -5.0]]
    """
    z = torch.from_numpy((-1.0) ** np.arange(data.X.shape[1]))
    return data._replace(X=data.X + shift * z)


def strayed(data: Labeled, angle: float) -> Labeled:
    """Turn the first positive point by an angle toward the mean direction of the negative points, at its length.

    Args:
        data: The points.
        angle: The angle in degrees, from 0 up to the angle between the point and that direction.

    >>> data = Labeled(torch.tensor([[2.0, 0.0], [0.0, -1.0]]).double(), torch.tensor([1.0, -1.0]).double())
    >>> strayed(data, 90.0).X.round(decimals=9).tolist()
    [[0.0, -2.0], [0.0, -1.0]]
    """
    i = int((data.y > 0).nonzero()[0, 0])
    x, toward = data.X[i], normalize(data.of(-1).mean(0), dim=0)
    length = x.norm()
    along = x / length
    largest = float(torch.rad2deg(torch.acos((along @ toward).clamp(-1, 1))))
    if not 0 <= angle <= largest:
        raise UserError(
            f"expected an angle from 0 to {largest:.4g} degrees, the angle to the other class, got {angle:g}"
        )
    across = normalize(toward - (toward @ along) * along, dim=0)
    X, phi = data.X.clone(), np.deg2rad(angle)
    X[i] = length * (np.cos(phi) * along + np.sin(phi) * across)
    return data._replace(X=X)
