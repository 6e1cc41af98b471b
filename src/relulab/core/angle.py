"""Lengths of vectors and angles between them, for arrays of NumPy and of torch alike.

For unit vectors 2 atan2(‖u − v‖, ‖u + v‖) is their angle, as exact for tiny angles and near π as in between, where an
arccos of the inner product loses half of all digits.
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
    """‖u‖ of each of the vectors along the last axis.

    Args:
        vectors: (*, d).

    >>> norms(np.array([[3.0, 4.0], [0.0, 2.0]])).tolist(), norms(torch.tensor([3.0, 4.0])).item()
    ([5.0, 2.0], 5.0)
    """
    return vectors.norm(dim=-1) if isinstance(vectors, Tensor) else np.linalg.norm(vectors, axis=-1)


@overload
def unit_angle(u: np.ndarray, v: np.ndarray, *, lines: bool = False) -> np.ndarray: ...
@overload
def unit_angle(u: Tensor, v: Tensor, *, lines: bool = False) -> Tensor: ...
def unit_angle(u: np.ndarray | Tensor, v: np.ndarray | Tensor, *, lines: bool = False) -> np.ndarray | Tensor:
    """The angle of unit vectors along the last axis, in [0, π]; of the lines through them, in [0, π/2].

    Args:
        u: (*, d), each of length one.
        v: the same, of any shape that goes with it.
        lines: whether u and −u count as one.

    >>> u, v = torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 0.0])
    >>> round(unit_angle(u, v).item(), 6), unit_angle(u, v, lines=True).item()
    (3.141593, 0.0)
    """
    if isinstance(u, Tensor) and isinstance(v, Tensor):
        near, far = norms(u - v), norms(u + v)
        if lines:
            near, far = torch.minimum(near, far), torch.maximum(near, far)
        return 2 * torch.atan2(near, far)
    apart, together = norms(np.subtract(u, v)), norms(np.add(u, v))
    if lines:
        apart, together = np.minimum(apart, together), np.maximum(apart, together)
    return 2 * np.arctan2(apart, together)


def angles(W: Float[np.ndarray, "*t n d"], w: Float[np.ndarray, " d"]) -> Float[np.ndarray, "*t n"]:
    """The angle of each row with w.

    Args:
        W: vectors along the last axis, none of them zero.
        w: one vector.

    >>> (angles(np.array([[0.0, 2.0], [-3.0, 0.0]]), np.array([1.0, 0.0])) / np.pi).tolist()
    [0.5, 1.0]
    """
    return unit_angle(W / norms(W)[..., None], w / np.linalg.norm(w))


def directions(u: Numbers, v: Numbers) -> tuple[Float[Tensor, "*lane d"], Float[Tensor, "*other d"]]:
    """u/‖u‖ and v/‖v‖ along the last axis, of vectors of any size; those that have no direction are refused.

    Args:
        u: (*, d), tensors, arrays or lists.
        v: the same, of a shape that goes with it.

    >>> [t.tolist() for t in directions([3e200, 4e200], [[0.0, 2.0]])]
    [[0.6, 0.8], [[0.0, 1.0]]]
    """
    u, v = tensors(vectors=u, others=v)
    try:
        torch.broadcast_shapes(u.shape, v.shape)
    except RuntimeError:
        raise UserError(f"vectors of shapes {tuple(u.shape)} and {tuple(v.shape)}: they do not go together") from None
    if not u.dim() or not v.dim() or u.shape[-1] != v.shape[-1]:
        raise UserError(f"vectors of shapes {tuple(u.shape)} and {tuple(v.shape)}: as many entries are needed of both")
    return _direction(u), _direction(v)


def _direction(u: Float[Tensor, "*lane d"]) -> Float[Tensor, "*lane d"]:
    size = u.abs().amax(-1, keepdim=True)
    if not (size > 0).all():
        raise UserError(f"{int((~(size > 0)).sum())} vectors are zero or NaN: they have no angle with anything")
    u = u / size  # first, since squares of 1e200 are infinite
    return u / u.norm(dim=-1, keepdim=True)
