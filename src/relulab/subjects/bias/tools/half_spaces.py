"""Data that several demonstrations of IB's theorems share."""

import torch

from relulab.core.seeds import Role, stream
from relulab.data.labelled import Labelled


def half_spaces(index: int) -> Labelled:
    """Gaussian points in R⁵ on two sides of a plane: linearly, not orthogonally separable."""
    X = torch.from_numpy(stream(0, Role.DEMONSTRATION, index).standard_normal((20, 5)))
    return Labelled(X, X[:, 0].sign())
