"""Data used by several demonstrations of the theorems of IB."""

import torch

from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled


def half_spaces(index: int) -> Labeled:
    """20 Gaussian points in R⁵ on two sides of a hyperplane: linearly but not orthogonally separable.

    Args:
        index: Index of the random stream.
    """
    X = torch.from_numpy(stream(0, Role.DEMONSTRATION, index).standard_normal((20, 5)))
    return Labeled(X, X[:, 0].sign())
