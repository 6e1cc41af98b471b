r"""How far a two-layer network is from the limit of IB theorem 1, two groups of max-margin neurons."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensors
from relulab.lab.instrument import instrument
from relulab.subjects.bias.instruments.sectors import check_units


class Limit(NamedTuple):
    """The network beside its limit; see ``limit_distance``."""

    cosine: Float[Tensor, "*lane p"]
    """of each neuron with w₊ if a_j > 0 and with w₋ otherwise"""
    u: Float[Tensor, "*lane p"]
    z: Float[Tensor, "*lane p"]
    first: Float[Tensor, "*lane"]
    """the distance of eq. 8"""
    second: Float[Tensor, "*lane"]
    """the distance of eq. 9"""
    beyond: Float[Tensor, "*lane"]
    """σ₃/σ₁ of W; the limit has rank two"""


@instrument(source="IB theorem 1, eqs. 8 and 9", ids=("IB.T1",))
def limit_distance(
    W: Num[Tensor, "*lane p d"] | Numbers,
    a: Num[Tensor, "*lane p"] | Numbers,
    w_plus: Num[Tensor, "*lane d"] | Numbers,
    w_minus: Num[Tensor, "*lane d"] | Numbers,
) -> Limit:
    r"""Distances of W/‖W‖ from u w₊ᵀ + z w₋ᵀ and of a/‖a‖ from u‖w₊‖ − z‖w₋‖, with the best u, z ≥ 0.

    Neurons with a_j > 0 have a share u_j = (w_jᵀw₊)₊/(‖w₊‖²‖W‖) of the one direction and z_j = 0, the others the other
    way round: of all u_j ≥ 0 that is the one nearest to eq. 8.

    Args:
        W: First-layer weights, (…, p, d), a neuron a row.
        a: Second-layer weights, (…, p).
        w_plus: w₊, the max-margin vector of the positive points, (d,) for all lanes or (…, d).
        w_minus: w₋, that of the negative points, of the same shape.

    >>> W, a = torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.tensor([3.0, -4.0])
    >>> found = limit_distance(W, a, torch.tensor([2.0, 0.0]), torch.tensor([0.0, 1.0]))
    >>> found.cosine.tolist(), found.u.tolist(), float(found.first), float(found.second)
    ([1.0, 1.0], [0.30000001192092896, 0.0], 0.0, 0.0)
    """
    W, a, w_plus, w_minus = tensors(W=W, a=a, w_plus=w_plus, w_minus=w_minus)
    check_units(W, a)
    lanes, d = W.shape[:-2], W.shape[-1:]
    if not w_plus.shape == w_minus.shape in (lanes + d, d):
        shapes = f"{tuple(w_plus.shape)} and {tuple(w_minus.shape)}"
        raise UserError(f"w₊ and w₋ of shapes {shapes} for first-layer weights of {tuple(W.shape)}: both {tuple(d)}")
    W, a = W / W.flatten(-2).norm(dim=-1)[..., None, None], a / a.norm(dim=-1, keepdim=True)
    lengths = torch.stack([w_plus.norm(dim=-1), w_minus.norm(dim=-1)], -1)[..., None, :]  # *lane 1 2
    along = W @ torch.stack([w_plus, w_minus], -1) / lengths  # *lane p 2: w_jᵀw±/‖w±‖
    own = torch.stack([a > 0, a <= 0], -1)
    parts = torch.where(own, along.clamp(min=0), 0)
    gap = W - parts @ (torch.stack([w_plus, w_minus], -2) / lengths.mT)
    cosine = (along * own).sum(-1) / W.norm(dim=-1).clamp(min=torch.finfo(W.dtype).tiny)
    singular = torch.linalg.svdvals(W)
    beyond = singular[..., 2] / singular[..., 0] if singular.shape[-1] > 2 else torch.zeros_like(singular[..., 0])
    u, z = (parts / lengths).unbind(-1)
    second = (a - parts[..., 0] + parts[..., 1]).norm(dim=-1)
    return Limit(cosine.clamp(-1, 1), u, z, gap.flatten(-2).norm(dim=-1), second, beyond)


def live(W: Float[Tensor, "*lane p d"], X: Float[Tensor, "*lane_ n d"]) -> Bool[Tensor, "*lane p"]:
    """Which neurons are active at some point; the others have stopped for good."""
    return (X @ W.mT > 0).any(-2)


def limit_function(
    found: Limit, w_plus: Float[Tensor, "*lane d"], w_minus: Float[Tensor, "*lane d"], x: Float[Tensor, "N d"]
) -> Float[Tensor, "*lane N"]:
    """uρ(w₊ᵀx) − zρ(w₋ᵀx) of eq. 10, to which f(x)/‖θ‖² tends, with u = ‖w₊‖‖u‖²/2, z = ‖w₋‖‖z‖²/2 (eqs. 69 to 74)."""
    u, z = (w.norm(dim=-1) * share.square().sum(-1) / 2 for share, w in ((found.u, w_plus), (found.z, w_minus)))
    return u[..., None] * (w_plus @ x.T).relu() - z[..., None] * (w_minus @ x.T).relu()
