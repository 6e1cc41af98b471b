"""Norms of vectors and angles between them, for NumPy arrays and torch tensors.

The angle between unit vectors is computed as 2 atan2(‖u − v‖, ‖u + v‖), which is accurate for all angles. The arccos of
the inner product would lose half of the digits near 0 and π.
"""

from typing import overload

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensors


@overload
def norms(vectors: np.ndarray) -> np.ndarray: ...
@overload
def norms(vectors: Tensor) -> Tensor: ...
def norms(vectors: np.ndarray | Tensor) -> np.ndarray | Tensor:
    """Return the Euclidean norm ‖u‖ of each vector along the last axis.

    Args:
        vectors: Vectors, (*, d).

    >>> norms(np.array([[3.0, 4.0], [0.0, 2.0]])).tolist(), norms(torch.tensor([3.0, 4.0])).item()
    ([5.0, 2.0], 5.0)
    """
    return vectors.norm(dim=-1) if isinstance(vectors, Tensor) else np.linalg.norm(vectors, axis=-1)


@overload
def unit_angle(u: np.ndarray, v: np.ndarray, *, lines: bool = False) -> np.ndarray: ...
@overload
def unit_angle(u: Tensor, v: Tensor, *, lines: bool = False) -> Tensor: ...
def unit_angle(u: np.ndarray | Tensor, v: np.ndarray | Tensor, *, lines: bool = False) -> np.ndarray | Tensor:
    """Return the angles between unit vectors, in [0, π], or between the lines through them, in [0, π/2].

    Args:
        u: Unit vectors along the last axis, (*, d).
        v: Unit vectors of a shape that broadcasts with ``u``.
        lines: Whether u and −u count as the same direction.

    >>> u, v = torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 0.0])
    >>> round(unit_angle(u, v).item(), 6), unit_angle(u, v, lines=True).item()
    (3.141593, 0.0)
    """
    if isinstance(u, Tensor) and isinstance(v, Tensor):
        difference, total = norms(u - v), norms(u + v)
        if lines:
            difference, total = torch.minimum(difference, total), torch.maximum(difference, total)
        return 2 * torch.atan2(difference, total)
    minus, plus = norms(np.subtract(u, v)), norms(np.add(u, v))
    if lines:
        minus, plus = np.minimum(minus, plus), np.maximum(minus, plus)
    return 2 * np.arctan2(minus, plus)


def angles(W: Float[np.ndarray, "*t n d"], w: Float[np.ndarray, " d"]) -> Float[np.ndarray, "*t n"]:
    """Return the angle between each vector in W and the vector w.

    Args:
        W: Nonzero vectors along the last axis, (*, n, d).
        w: One nonzero vector, (d,).

    >>> (angles(np.array([[0.0, 2.0], [-3.0, 0.0]]), np.array([1.0, 0.0])) / np.pi).tolist()
    [0.5, 1.0]
    """
    return unit_angle(W / norms(W)[..., None], w / np.linalg.norm(w))


def directions(u: Numbers, v: Numbers) -> tuple[Float[Tensor, "*lane d"], Float[Tensor, "*other d"]]:
    """Return u/‖u‖ and v/‖v‖ along the last axis, without overflow or underflow.

    Args:
        u: Vectors, (*, d), as a tensor, an array or lists. Zero and NaN vectors raise ``UserError``.
        v: Vectors of a shape that broadcasts with ``u``, with the same d.

    >>> [t.tolist() for t in directions([3e200, 4e200], [[0.0, 2.0]])]
    [[0.6, 0.8], [[0.0, 1.0]]]
    """
    u, v = tensors(vectors=u, others=v)
    try:
        torch.broadcast_shapes(u.shape, v.shape)
    except RuntimeError:
        raise UserError(
            f"expected vectors of shapes that broadcast, got {tuple(u.shape)} and {tuple(v.shape)}: the last axis must "
            "have the same length in both"
        ) from None
    if not u.dim() or not v.dim() or u.shape[-1] != v.shape[-1]:
        raise UserError(
            f"expected vectors with the same number of entries, got shapes {tuple(u.shape)} and {tuple(v.shape)}: the "
            "last axis must have the same length in both"
        )
    return _direction(u), _direction(v)


def _direction(u: Float[Tensor, "*lane d"]) -> Float[Tensor, "*lane d"]:
    size = u.abs().amax(-1, keepdim=True)
    if not (size > 0).all():
        raise UserError(
            f"expected nonzero vectors, but {int((~(size > 0)).sum())} of {size.numel()} are zero or contain NaN and "
            "have no direction: remove them"
        )
    return unit_rows(u)


def unit_rows(X: Float[Tensor, "*lane d"]) -> Float[Tensor, "*lane d"]:
    """Return x/‖x‖ along the last axis, without overflow or underflow; zero stays zero.

    Args:
        X: Vectors, (*, d).

    >>> unit_rows(torch.tensor([[3e200, 4e200], [0.0, 0.0]], dtype=torch.float64)).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    size = X.abs().amax(-1, keepdim=True)
    X = X / torch.where(size > 0, size, 1.0)  # before taking the norm, because the square of 1e200 overflows
    return X / X.norm(dim=-1, keepdim=True).clamp(min=1.0)  # the largest entry is now 1, or 0
