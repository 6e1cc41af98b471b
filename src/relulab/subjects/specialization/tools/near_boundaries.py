"""Teacher-aware inputs: points on and near the boundaries of the nodes of a teacher (SS figure 9)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.subjects.specialization.tools.augmentation import hyperplanes
from relulab.subjects.specialization.tools.nodes import Nodes


@dataclass(frozen=True, eq=False)
class NearBoundaries:
    r"""Teacher-aware points, all of norm std·√d, which is about the norm of points from N(0, std² I).

    The nodes take turns. For node j, a point of N(0, std² I) is projected onto the boundary w̃_jᵀx + b_j = 0. It gives
    three points: itself, and x ± α w̃_j with α ~ U[low, high], one on each side. Then each point is scaled to the common
    norm. This moves a point off the boundary by |b_j| times the relative change.

    Args:
        nodes: The nodes of the teacher, for instance ``lowest(net)``. They are scaled to ‖w̃‖ = 1.
        std: Standard deviation of each coordinate, above 0.
        low: Smallest distance α from the boundary, at least 0.
        high: Largest distance α from the boundary.
        on_boundary: Whether to include the points on the boundary. False keeps only the two points beside it.

    >>> import torch
    >>> x = NearBoundaries(Nodes(torch.eye(3), torch.zeros(3)), std=2.0).draw(np.random.default_rng(0), 7)
    >>> x.shape, np.linalg.norm(x, axis=1).round(6).tolist()[:2]
    ((7, 3), [3.464102, 3.464102])
    """

    nodes: Nodes
    std: float = 1.5
    low: float = 2.0
    high: float = 4.0
    on_boundary: bool = True

    def __post_init__(self):
        object.__setattr__(self, "nodes", hyperplanes(self.nodes))
        if not (0 < self.std < np.inf and 0 <= self.low <= self.high < np.inf):
            raise UserError(
                f"expected std > 0 and 0 ≤ low ≤ high, got std={self.std}, low={self.low}, high={self.high}"
            )

    @property
    def d(self) -> int:
        """Number of inputs."""
        return self.nodes.w.shape[1]

    def draw(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        """Draw n points.

        Args:
            rng: Random generator of NumPy.
            n: Number of points.
        """
        x = self.unscaled(rng, n)
        norm = np.linalg.norm(x, axis=1, keepdims=True)
        return x * (self.std * np.sqrt(self.d) / np.where(norm > 0, norm, 1))  # the origin has no direction

    def unscaled(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        """Draw n points before they are scaled: rows of a node have signed distances 0, α and −α from its boundary.

        Args:
            rng: Random generator of NumPy.
            n: Number of points.
        """
        at_least(0, n=n)
        w, b = (t.numpy() for t in self.nodes)
        count = -(-n // (3 if self.on_boundary else 2))
        j = np.arange(count) % len(w)
        x = rng.standard_normal((count, self.d)) * self.std
        alpha = rng.uniform(self.low, self.high, count)
        x -= (np.einsum("nd,nd->n", x, w[j]) + b[j])[:, None] * w[j]
        shift = alpha[:, None] * w[j]
        kinds = [x, x + shift, x - shift] if self.on_boundary else [x + shift, x - shift]
        return np.stack(kinds, 1).reshape(-1, self.d)[:n]
