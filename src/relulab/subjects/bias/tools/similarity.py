"""How alike points of equal and of different classes are, by inner products of all pairs."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from relulab.core.errors import UserError

KINDS = ("different", "both 0", "both 1")
"""Pairs by their classes, in the order of IB figure 3."""


class Pairs(NamedTuple):
    """xᵢᵀxⱼ and its cosine for each pair of one kind; a point that is zero has cosine 0 with all others."""

    inner: Float64[np.ndarray, " pairs"]
    cosine: Float64[np.ndarray, " pairs"]

    def breaking(self, kind: str) -> Bool[np.ndarray, " pairs"]:
        """Pairs that break orthogonal separability, IB eq. 1: xᵢᵀxⱼ > 0 for equal classes, ≤ 0 for different ones."""
        return self.inner > 0 if kind == "different" else self.inner <= 0


def pairs(x: Float[Tensor, "N d"], y: Int[Tensor, " N"]) -> dict[str, Pairs]:
    """All pairs i < j of points by kind: of different classes, both of class 0, both of class 1. In float64.

    >>> found = pairs(torch.tensor([[1.0, 0.0], [2.0, 0.0], [-1.0, 1.0]]), torch.tensor([0, 0, 1]))
    >>> found["both 0"].inner.tolist(), found["different"].inner.tolist()
    ([2.0], [-1.0, -2.0])
    """
    if not set(y.tolist()) <= {0, 1}:
        raise UserError(f"labels {sorted(set(y.tolist()))[:4]}: 0 and 1 are the classes that pairs are made of")
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
    """The chance that a pair of one class has the larger inner product than a pair of two, ties counting one half.

    >>> more_alike(np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    0.875
    """
    if not len(equal) or not len(different):
        return float("nan")
    ranked = np.sort(different)
    below, upto = (np.searchsorted(ranked, equal, side=side) for side in ("left", "right"))
    return float((below + upto).mean() / (2 * len(different)))
