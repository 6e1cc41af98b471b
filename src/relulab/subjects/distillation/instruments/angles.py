"""Angles between weight vectors or points (T5 eqs. 5.16 and 5.28)."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensors
from relulab.lab.instrument import instrument


@instrument(source="T5 eq. 5.28", ids=("T5.L1",))
def signed_angle(u: Numbers, v: Numbers) -> Float[Tensor, "*lane"]:
    """The angle α(u, v) = arccos(uᵀv/(‖u‖‖v‖)) in [0, π]; vectors along the last axis.

    For unit vectors 2 atan2(‖u − v‖, ‖u + v‖) is the same angle, and as exact for tiny angles as for large ones, where
    an arccos loses half of all digits.

    >>> round(signed_angle(torch.tensor([1.0, 0.0]), torch.tensor([-3.0, 3.0])).item() / torch.pi, 6)
    0.75
    """
    u, v = _units(u, v)
    return 2 * torch.atan2((u - v).norm(dim=-1), (u + v).norm(dim=-1))


@instrument(source="T5 eq. 5.16", ids=("T5.L1", "T5.T3"))
def angle(u: Numbers, v: Numbers) -> Float[Tensor, "*lane"]:
    """The unsigned angle ᾱ(u, v) = arccos(|uᵀv|/(‖u‖‖v‖)) in [0, π/2], between the lines of u and v.

    >>> angle(torch.tensor([1.0, 0.0]), torch.tensor([-2.0, 0.0])).item()
    0.0
    """
    u, v = _units(u, v)
    apart, together = (u - v).norm(dim=-1), (u + v).norm(dim=-1)
    return 2 * torch.atan2(torch.minimum(apart, together), torch.maximum(apart, together))


def _units(u: Numbers, v: Numbers) -> tuple[Float[Tensor, "*lane d"], Float[Tensor, "*other d"]]:
    u, v = tensors(vectors=u, others=v)
    try:
        torch.broadcast_shapes(u.shape, v.shape)
    except RuntimeError:
        raise UserError(f"vectors of shapes {tuple(u.shape)} and {tuple(v.shape)}: they do not go together") from None
    if not u.dim() or not v.dim() or u.shape[-1] != v.shape[-1]:
        raise UserError(f"vectors of shapes {tuple(u.shape)} and {tuple(v.shape)}: as many entries are needed of both")
    return _unit(u), _unit(v)


def _unit(u: Float[Tensor, "*lane d"]) -> Float[Tensor, "*lane d"]:
    size = u.abs().amax(-1, keepdim=True)
    if not (size > 0).all():
        raise UserError(f"{int((~(size > 0)).sum())} vectors are zero or NaN: they have no angle with anything")
    u = u / size  # first, since squares of 1e200 are infinite
    return u / u.norm(dim=-1, keepdim=True)
