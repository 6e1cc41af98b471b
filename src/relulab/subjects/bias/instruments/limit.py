r"""The distance of a two-layer network from the limit of IB theorem 1: two groups of max-margin neurons."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensors
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument
from relulab.subjects.bias.instruments.sectors import check_units


class Limit(NamedTuple):
    """A network compared with its limit; see ``limit_distance``."""

    cosine: Float[Tensor, "*lane p"]
    """cosine of each neuron with w₊ if a_j > 0, and with w₋ otherwise"""
    u: Float[Tensor, "*lane p"]
    z: Float[Tensor, "*lane p"]
    first: Float[Tensor, "*lane"]
    """distance of eq. 8"""
    second: Float[Tensor, "*lane"]
    """distance of eq. 9"""
    beyond: Float[Tensor, "*lane"]
    """third singular value of W divided by the first; the limit has rank two"""

    __repr__ = short_repr


@instrument(source="IB theorem 1, eqs. 8 and 9", ids=("IB.T1",))
def limit_distance(
    W: Num[Tensor, "*lane p d"] | Numbers,
    a: Num[Tensor, "*lane p"] | Numbers,
    w_plus: Num[Tensor, "*lane d"] | Numbers,
    w_minus: Num[Tensor, "*lane d"] | Numbers,
) -> Limit:
    r"""Compute the distances of W/‖W‖ from u w₊ᵀ + z w₋ᵀ and of a/‖a‖ from u‖w₊‖ − z‖w₋‖, with the best u, z ≥ 0.

    For neurons with a_j > 0, u_j = max(w_jᵀw₊, 0)/(‖w₊‖²‖W‖) and z_j = 0; for the others, u_j = 0 and
    z_j = max(w_jᵀw₋, 0)/(‖w₋‖²‖W‖). These are the nonnegative u_j and z_j that make the distance of eq. 8 smallest.

    Args:
        W: First-layer weights, (…, p, d), one row per neuron.
        a: Second-layer weights, (…, p).
        w_plus: Max-margin vector w₊ of the positive points, (d,) for all lanes or (…, d).
        w_minus: Max-margin vector w₋ of the negative points, of the same shape.

    >>> W, a = torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.tensor([3.0, -4.0])
    >>> limit = limit_distance(W, a, torch.tensor([2.0, 0.0]), torch.tensor([0.0, 1.0]))
    >>> limit.cosine.tolist(), limit.u.tolist(), float(limit.first), float(limit.second)
    ([1.0, 1.0], [0.30000001192092896, 0.0], 0.0, 0.0)
    """
    W, a, w_plus, w_minus = tensors(W=W, a=a, w_plus=w_plus, w_minus=w_minus)
    check_units(W, a)
    lanes, d = W.shape[:-2], W.shape[-1:]
    if not w_plus.shape == w_minus.shape in (lanes + d, d):
        raise UserError(
            f"expected w₊ and w₋ both of shape {tuple(d)} for first-layer weights of shape {tuple(W.shape)}, got "
            f"shapes {tuple(w_plus.shape)} and {tuple(w_minus.shape)}"
        )
    W, a = W / W.flatten(-2).norm(dim=-1)[..., None, None], a / a.norm(dim=-1, keepdim=True)
    lengths = torch.stack([w_plus.norm(dim=-1), w_minus.norm(dim=-1)], -1)[..., None, :]  # *lane 1 2
    along = W @ torch.stack([w_plus, w_minus], -1) / lengths  # *lane p 2: w_jᵀw±/‖w±‖
    assigned = torch.stack([a > 0, a <= 0], -1)  # w₊ to neurons with a_j > 0, w₋ to the others
    parts = torch.where(assigned, along.clamp(min=0), 0)
    gap = W - parts @ (torch.stack([w_plus, w_minus], -2) / lengths.mT)
    cosine = (along * assigned).sum(-1) / W.norm(dim=-1).clamp(min=torch.finfo(W.dtype).tiny)
    singular = torch.linalg.svdvals(W)
    beyond = singular[..., 2] / singular[..., 0] if singular.shape[-1] > 2 else torch.zeros_like(singular[..., 0])
    u, z = (parts / lengths).unbind(-1)
    second = (a - parts[..., 0] + parts[..., 1]).norm(dim=-1)
    return Limit(cosine.clamp(-1, 1), u, z, gap.flatten(-2).norm(dim=-1), second, beyond)


def live(W: Float[Tensor, "*lane p d"], X: Float[Tensor, "*lane_ n d"]) -> Bool[Tensor, "*lane p"]:
    """Return which neurons are active on at least one point; the others no longer change.

    Args:
        W: First-layer weights, (…, p, d), one row per neuron.
        X: Points, (…, n, d), one row per point.
    """
    return (X @ W.mT > 0).any(-2)


def limit_function(
    limit: Limit, w_plus: Float[Tensor, "*lane d"], w_minus: Float[Tensor, "*lane d"], x: Float[Tensor, "N d"]
) -> Float[Tensor, "*lane N"]:
    """Evaluate the limit uρ(w₊ᵀx) − zρ(w₋ᵀx) of f(x)/‖θ‖² in eq. 10.

    The constants are u = ‖w₊‖‖u‖²/2 and z = ‖w₋‖‖z‖²/2, with the vectors u and z of theorem 1 (eqs. 69 to 74).

    Args:
        limit: Result of ``limit_distance``.
        w_plus: Max-margin vector w₊ of the positive points, (d,) or (…, d).
        w_minus: Max-margin vector w₋ of the negative points, of the same shape.
        x: Points at which the limit is evaluated, (N, d).
    """
    u, z = (w.norm(dim=-1) * share.square().sum(-1) / 2 for share, w in ((limit.u, w_plus), (limit.z, w_minus)))
    return u[..., None] * (w_plus @ x.T).relu() - z[..., None] * (w_minus @ x.T).relu()
