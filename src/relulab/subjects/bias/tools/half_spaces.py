"""Data that several demonstrations of IB's theorems share."""

import torch

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled


def half_spaces(index: int) -> Labeled:
    """Gaussian points in R⁵ on two sides of a plane: linearly, not orthogonally separable."""
    X = torch.from_numpy(stream(0, Role.DEMONSTRATION, index).standard_normal((20, 5)))
    return Labeled(X, X[:, 0].sign())
