"""Angles between weight vectors or points (T5 eqs. 5.16 and 5.28)."""

from jaxtyping import Float
from torch import Tensor

from relulab.core.angle import directions, unit_angle
from relulab.core.numbers import Numbers
from relulab.lab.instrument import instrument


@instrument(source="T5 eq. 5.28", ids=("T5.L1",))
def signed_angle(u: Numbers, v: Numbers) -> Float[Tensor, "*lane"]:
    """The signed angle α(u, v) = arccos(uᵀv/(‖u‖‖v‖)) in [0, π].

    Args:
        u: Vectors along the last axis, (*, d), none of them zero.
        v: Vectors of a shape that broadcasts with ``u``, none of them zero.

    >>> import torch
    >>> round(signed_angle(torch.tensor([1.0, 0.0]), torch.tensor([-3.0, 3.0])).item() / torch.pi, 6)
    0.75
    """
    return unit_angle(*directions(u, v))


@instrument(source="T5 eq. 5.16", ids=("T5.L1", "T5.T3"))
def angle(u: Numbers, v: Numbers) -> Float[Tensor, "*lane"]:
    """The unsigned angle ᾱ(u, v) = arccos(|uᵀv|/(‖u‖‖v‖)) in [0, π/2], between the lines through u and v.

    Args:
        u: Vectors along the last axis, (*, d), none of them zero.
        v: Vectors of a shape that broadcasts with ``u``, none of them zero.

    >>> import torch
    >>> angle(torch.tensor([1.0, 0.0]), torch.tensor([-2.0, 0.0])).item()
    0.0
    """
    return unit_angle(*directions(u, v), lines=True)
