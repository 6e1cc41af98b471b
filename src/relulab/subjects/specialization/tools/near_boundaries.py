"""Inputs made with knowledge of a teacher: points on and about the boundaries of its nodes (SS figure 9)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError
from relulab.subjects.specialization.tools.augmentation import hyperplanes
from relulab.subjects.specialization.tools.nodes import Nodes


@dataclass(frozen=True, eq=False)
class NearBoundaries:
    r"""Teacher-aware points, node by node in turn, all of norm std·√d, about that of N(0, std² I).

    For node j a point of N(0, std² I) is projected onto the boundary w̃_jᵀx + b_j = 0 and gives three: itself and
    x ± α w̃_j with α ~ U[low, high], one at the same distance on either side. Then each is scaled to the common norm,
    which moves a point on the boundary off it by |b_j| times the relative change. Without ``on_boundary`` only the two
    at the sides remain.

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
                f"std {self.std} and distances from {self.low} to {self.high}: std > 0 and 0 ≤ low ≤ high were expected"
            )

    @property
    def d(self) -> int:
        return self.nodes.w.shape[1]

    def draw(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        x = self.unscaled(rng, n)
        norm = np.linalg.norm(x, axis=1, keepdims=True)
        return x * (self.std * np.sqrt(self.d) / np.where(norm > 0, norm, 1))  # the origin has no direction

    def unscaled(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        """The points before they get their common norm: rows of a node lie at distances 0, α and −α of its boundary."""
        w, b = (t.numpy() for t in self.nodes)
        count = -(-n // (3 if self.on_boundary else 2))
        j = np.arange(count) % len(w)
        x = rng.standard_normal((count, self.d)) * self.std
        alpha = rng.uniform(self.low, self.high, count)
        x -= (np.einsum("nd,nd->n", x, w[j]) + b[j])[:, None] * w[j]
        shift = alpha[:, None] * w[j]
        kinds = [x, x + shift, x - shift] if self.on_boundary else [x + shift, x - shift]
        return np.stack(kinds, 1).reshape(-1, self.d)[:n]
