"""The similarity of points of equal and of different classes, by the inner products of all pairs."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from relulab.core.errors import UserError

KINDS = ("different", "both 0", "both 1")
"""Kinds of pairs by class, in the order of IB figure 3."""


class Pairs(NamedTuple):
    """x_iᵀx_j and the cosine for each pair of one kind; the cosine with a zero point is 0."""

    inner: Float64[np.ndarray, " pairs"]
    cosine: Float64[np.ndarray, " pairs"]

    def breaking(self, kind: str) -> Bool[np.ndarray, " pairs"]:
        """Return which pairs violate IB eq. 1: x_iᵀx_j > 0 for equal classes, x_iᵀx_j ≤ 0 for different classes.

        Args:
            kind: The kind of the pairs, one of ``KINDS``.
        """
        return self.inner > 0 if kind == "different" else self.inner <= 0


def pairs(x: Float[Tensor, "N d"], y: Int[Tensor, " N"]) -> dict[str, Pairs]:
    """Compute all pairs i < j of points in float64, by kind: different classes, both class 0, both class 1.

    Args:
        x: Points, (N, d), one row per point.
        y: Labels 0 and 1, (N,).

    >>> by_kind = pairs(torch.tensor([[1.0, 0.0], [2.0, 0.0], [-1.0, 1.0]]), torch.tensor([0, 0, 1]))
    >>> by_kind["both 0"].inner.tolist(), by_kind["different"].inner.tolist()
    ([2.0], [-1.0, -2.0])
    """
    if not set(y.tolist()) <= {0, 1}:
        raise UserError(f"expected labels 0 and 1, got {sorted(set(y.tolist()))[:4]}")
    zero, one = (x[y == label].double() for label in (0, 1))
    return {"different": _between(zero, one), "both 0": _within(zero), "both 1": _within(one)}


def _between(a: Float64[Tensor, "n d"], b: Float64[Tensor, "m d"]) -> Pairs:
    inner = a @ b.T
    return Pairs(inner.flatten().numpy(), (inner / _sizes(a)[:, None] / _sizes(b)).clamp(-1, 1).flatten().numpy())


def _within(a: Float64[Tensor, "n d"]) -> Pairs:
    inner = a @ a.T
    above = torch.triu_indices(len(a), len(a), 1, device=a.device)
    cosine = (inner / _sizes(a)[:, None] / _sizes(a)).clamp(-1, 1)
    return Pairs(inner[above[0], above[1]].numpy(), cosine[above[0], above[1]].numpy())


def _sizes(a: Float64[Tensor, "n d"]) -> Float64[Tensor, " n"]:
    size = a.norm(dim=1)
    return torch.where(size > 0, size, 1.0)


def more_alike(equal: Float64[np.ndarray, " n"], different: Float64[np.ndarray, " m"]) -> float:
    """The probability that a pair of one class has a larger inner product than a pair of two classes; ties count ½.

    Args:
        equal: Inner products of pairs of one class, (n,).
        different: Inner products of pairs of two classes, (m,).

    >>> more_alike(np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    0.875
    """
    if not len(equal) or not len(different):
        return float("nan")
    ranked = np.sort(different)
    below, at_most = (np.searchsorted(ranked, equal, side=side) for side in ("left", "right"))
    return float((below + at_most).mean() / (2 * len(different)))
