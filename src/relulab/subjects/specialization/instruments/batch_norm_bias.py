"""Biases of BatchNorm: how many are negative, and on which share of samples the ReLU behind them is active."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument


@instrument(source="LM section 4.1, figures 6 and 18", ids=("LM.F6",))
def negative_share(bias: Float[Tensor, "*lane n"]) -> Float[Tensor, "*lane"]:
    """Compute the share of the BatchNorm biases c_1 of a layer that are negative.

    BatchNorm makes its inputs have mean zero, so a negative bias lets less than half of the samples pass a ReLU that
    follows, if the inputs are distributed symmetrically. A bias of zero is not negative.

    Args:
        bias: The biases c_1, (*, n).

    >>> negative_share(torch.tensor([-0.5, 0.0, 0.25, -1.0])).item()
    0.5
    """
    if not bias.dim() or not bias.shape[-1]:
        raise UserError(f"expected at least one bias along the last axis, got shape {tuple(bias.shape)}: give a vector")
    return (bias < 0).to(bias.dtype).mean(-1)


@instrument(source="LM section 4.1 and eq. 16", ids=("LM.F6",))
def active_share(
    bias: Float[Tensor, "*lane n"], weight: Float[Tensor, "*lane n"] | None = None
) -> Float[Tensor, "*lane n"]:
    """Compute the share of samples at which a ReLU behind BatchNorm is active, Φ(c_1/|c_0|), for normal inputs.

    Φ is the distribution function of N(0, 1). A unit with c_0 = 0 is constant: active always or never.

    Args:
        bias: The biases c_1, (*, n).
        weight: The weights c_0, (*, n). Default: 1.

    >>> active_share(torch.tensor([0.0, -1.0, 2.0]), torch.tensor([1.0, 1.0, 0.0])).tolist()
    [0.5, 0.15865525603294373, 1.0]
    """
    if weight is not None and weight.shape != bias.shape:
        raise UserError(
            f"expected one weight per bias, got weights of shape {tuple(weight.shape)} and biases of shape "
            f"{tuple(bias.shape)}: use those of one BatchNorm"
        )
    scale = torch.ones_like(bias) if weight is None else weight.abs()
    ratio = torch.where(scale > 0, bias / scale, torch.where(bias > 0, torch.inf, -torch.inf).to(bias.dtype))
    return torch.special.ndtr(ratio)
