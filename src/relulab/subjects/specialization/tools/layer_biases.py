"""The BatchNorm biases of a network, layer by layer: shares of negative ones, with intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from relulab.core.errors import UserError
from relulab.core.share import Estimate, share
from relulab.core.short_repr import short_repr
from relulab.io.saved_batch_norms import saved_batch_norms
from relulab.lab.claim import NORMAL, rank_correlation
from relulab.nets.batch_norm_layers import BatchNormLayer, Place, batch_norm_layers, by_statistics
from relulab.subjects.specialization.instruments.batch_norm_bias import active_share, negative_share
from relulab.subjects.specialization.tools.normalized_layers import as_module


@dataclass(frozen=True, repr=False)
class LayerBiases:
    """The biases of one BatchNorm.

    Args:
        layer: The BatchNorm.
        negative: Number of negative biases.
        share: Share of negative biases, with its exact 95% interval, as if units were independent.
        active: Mean over units of Φ(c_1/|c_0|): the share of samples that a ReLU behind BatchNorm lets pass, for normal
            inputs.
    """

    layer: BatchNormLayer
    negative: int
    share: Estimate
    active: float

    __repr__ = short_repr

    def row(self) -> dict[str, Any]:
        """Return the numbers of the layer as a JSON document."""
        of = self.layer
        return {
            "layer": of.name, "place": of.place.value, "told_by": of.told_by, "biases": len(of.bias),
            "negative": self.negative, "share": self.share.value, "low": self.share.low, "high": self.share.high,
            "median": float(of.bias.double().median()), "active": self.active,
        }  # fmt: skip


def batch_norm_biases(net: nn.Module | Path | str) -> list[LayerBiases]:
    """Measure the biases of every BatchNorm in a network, in the order of its layers.

    Args:
        net: A module (an ``MLP`` must have one lane), or a file: a state dict (.safetensors, .npz, .pt, .pth, .bin) or
            an exported program (.pt2).

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU())
    >>> (found,) = batch_norm_biases(net)
    >>> found.share.value, found.active, found.layer.place.value
    (0.0, 0.5, 'before a ReLU')
    """
    if isinstance(net, nn.Module):
        layers, where = by_statistics(batch_norm_layers(as_module(net))), type(net).__name__
    else:
        layers, where = saved_batch_norms(net).layers, str(net)
    return biases_of(layers, where)


def biases_of(layers: Sequence[BatchNormLayer], where: str) -> list[LayerBiases]:
    """Measure the biases of given layers, or refuse a network without any.

    Args:
        layers: The layers.
        where: The network, for messages.
    """
    if not layers:
        raise UserError(
            f"{where} has no BatchNorm with biases: expected vectors such as bn1.bias, bn1.running_mean and "
            "bn1.running_var with one prefix, as in the state dict of a network with BatchNorm"
        )
    return [_measured(layer) for layer in layers]


def _measured(layer: BatchNormLayer) -> LayerBiases:
    bias, weight = layer.bias.double(), None if layer.weight is None else layer.weight.double()
    negative = round(float(negative_share(bias)) * len(bias))
    return LayerBiases(layer, negative, share(negative, len(bias)), float(active_share(bias, weight).mean()))


def together(layers: Sequence[LayerBiases], place: Place | None = None) -> tuple[int, int]:
    """Return how many biases of several layers are negative, and how many there are.

    Args:
        layers: The layers.
        place: Count only layers that stand there.
    """
    counted = [one for one in layers if place in (None, one.layer.place)]
    return sum(one.negative for one in counted), sum(len(one.layer.bias) for one in counted)


def trend(shares: Sequence[float] | np.ndarray) -> Estimate:
    """Return the rank correlation between the share of negative biases and depth, with an approximate 95% interval.

    It is the interval of Bonett and Wright, from Fisher's transformation with the standard error √((1 + ρ²/2)/(L − 3))
    for L layers. Values at ±1, where it would have no width, are moved by half the smallest change that ranks allow.

    Args:
        shares: The shares in the order of the layers.

    Returns:
        The correlation and the ends of its interval; NaN for fewer than five layers, or if all shares are equal.

    >>> [round(x, 2) for x in trend([0.1, 0.3, 0.2, 0.5, 0.4, 0.9, 0.8])]
    [0.89, 0.27, 0.99]
    """
    L = len(shares)
    rho = float(rank_correlation(np.arange(L, dtype=float), np.asarray(shares, dtype=float))) if L >= 5 else math.nan
    if math.isnan(rho):
        return Estimate(math.nan, math.nan, math.nan)
    inside = 1 - 6 / (L**3 - L)
    z = math.atanh(max(-inside, min(inside, rho)))
    half = NORMAL * math.sqrt((1 + rho**2 / 2) / (L - 3))
    return Estimate(rho, math.tanh(z - half), math.tanh(z + half))
