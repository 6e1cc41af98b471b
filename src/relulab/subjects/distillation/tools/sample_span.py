"""The dimensions that a sample of points spans, and default numbers of points for risk curves."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.subjects.distillation.tools.nested import DEPENDENT, nested_students

PROBES = 5  # number of sets of d points whose rank is computed to choose the sizes


class Span(NamedTuple):
    """The rank of all points and of a random half, w* projected onto the span, and its relative part outside."""

    rank: int
    half: int
    within: Float64[Tensor, " d"]
    outside: float

    @property
    def settled(self) -> bool:
        """Whether half of the points span as much as all, so that new points are unlikely to add dimensions."""
        return self.rank == self.half


def sample_span(X: Float64[Tensor, "N d"], w: Float64[Tensor, " d"], rng: np.random.Generator) -> Span:
    """Compute the span of unit points; singular values below 10⁻¹⁰ of the largest do not count.

    Args:
        X: Unit points, (N, d), one per row.
        w: The teacher, (d,).
        rng: Random generator for the random half.
    """

    def basis(rows: Tensor) -> Tensor:
        # The R factor has the same row span as the points and is small for any number of points.
        _, s, V = torch.linalg.svd(torch.linalg.qr(rows, mode="r").R, full_matrices=False)
        return V[s > DEPENDENT * s[0]]

    V = basis(X)
    within = V.T @ (V @ w) if len(V) < len(w) else w
    half = X[torch.from_numpy(rng.permutation(len(X))[: max(1, len(X) // 2)])]
    return Span(len(V), len(basis(half)), within, float((w - within).norm() / w.norm()))


def ends(X: Tensor, w: Tensor, span: Span, rng: np.random.Generator) -> list[int]:
    """Numbers of points at which the risk may reach 0: the rank and d, and 2d if sets of d points lack full rank."""
    d = X.shape[1]
    sets = np.stack([rng.permutation(len(X))[:d] for _ in range(PROBES)])
    lower = nested_students(X[torch.from_numpy(sets)], w).new.sum(-1) < min(len(X), span.rank)
    return [span.rank, d, *([2 * d] if lower.any() else [])]


def usual_sizes(N: int, *ends: int) -> list[int]:
    """The default numbers of points: 1, 2, 5, 10, … up to a quarter of N, and the ``ends`` below half of N.

    >>> usual_sizes(100, 17, 20), usual_sizes(30, 30, 100), usual_sizes(60, 25)
    ([1, 2, 5, 10, 17, 20], [1, 2, 5, 7], [1, 2, 5, 10, 15, 25])
    """
    ends = tuple(end for end in ends if end < N // 2) or (N,)
    most = max(1, min(max(ends), N // 4))
    series = (digit * 10**power for power in range(len(str(most))) for digit in (1, 2, 5))
    return sorted({*(n for n in series if n < most), most, *(end for end in ends if end < N // 2)})
