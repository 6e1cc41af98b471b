"""Measurements of IB figures 3 and 4: similarities of digits layer by layer, and the weights W₇."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Float64, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from relulab.subjects.bias.tools.digit_net import LAYERS, layer_features
from relulab.subjects.bias.tools.finite_svd import finite_svd
from relulab.subjects.bias.tools.similarity import KINDS, Pairs, more_alike, pairs

SIDES = ("before", "after")
"""Before or after the ReLU. The images (layer 0) have no ReLU and are stored under both."""
LEVELS = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
INNER = np.linspace(-1, 3, 201)
"""Bin edges for x_iᵀx_j divided by the mean ‖x‖² of the layer; values outside are counted in the outermost bins."""
COSINE = np.linspace(-1, 1, 201)
PLACE = ("side", "layer", "pair")


class Fit(NamedTuple):
    """Mean binary cross-entropy and accuracy, in float64."""

    loss: float
    accuracy: float


def cross_entropy(logit: Float[Tensor, "N 1"], y: Float[Tensor, " N"]) -> Float64[Tensor, ""]:
    """Compute the mean binary cross-entropy in float64.

    Args:
        logit: Logits, (N, 1).
        y: Labels 0 and 1, (N,).
    """
    return binary_cross_entropy_with_logits(logit[:, 0].double(), y.double())


def accuracy(logit: Float[Tensor, "N 1"], y: Float[Tensor, " N"]) -> Float64[Tensor, ""]:
    """Compute the share of logits with the sign of their label.

    Args:
        logit: Logits, (N, 1).
        y: Labels 0 and 1, (N,).
    """
    return ((logit[:, 0] > 0) == (y > 0.5)).double().mean()


def similarities(net: nn.Sequential, x: Float[Tensor, "N 1 28 28"], y: Int[Tensor, " N"]) -> xr.Dataset:
    """Measure inner products and cosines of all pairs, by kind, in layers 0 (the images) to 7.

    Features before and after the ReLU are measured. ``scale`` is the mean ‖x‖² of the layer. ``inner`` and ``cosine``
    are shares of pairs per bin; ``inner_quantile`` and ``cosine_quantile`` are quantiles. ``breaking`` is the share of
    pairs that violate orthogonal separability, and ``broken`` contains quantiles of |cosine| over these pairs.
    ``alike`` is the probability that a pair of one class has a larger inner product than a pair of two classes.

    Args:
        net: A ``digit_net``.
        x: Images, (N, 1, 28, 28).
        y: Labels 0 and 1, (N,).
    """
    shape = (len(SIDES), LAYERS + 1, len(KINDS))
    rows: dict[str, np.ndarray] = {
        "scale": np.empty(shape[:2]), "alike": np.empty((*shape[:2], 2)), "breaking": np.empty(shape),
        "inner": np.empty((*shape, len(INNER) - 1), "f4"), "cosine": np.empty((*shape, len(COSINE) - 1), "f4"),
        **{name: np.empty((*shape, len(LEVELS))) for name in ("inner_quantile", "cosine_quantile", "broken")},
    }  # fmt: skip
    for side, layer, f in _features(net, x):
        by_kind, place = pairs(f, y), (SIDES.index(side), layer)
        rows["scale"][place] = scale = float(f.double().pow(2).sum(1).mean())
        rows["alike"][place] = [more_alike(by_kind[kind].inner, by_kind["different"].inner) for kind in KINDS[1:]]
        for k, kind in enumerate(KINDS):
            for name, value in _summary(by_kind[kind], kind, scale).items():
                rows[name][*place, k] = value
    last = {"inner": "inner_bin", "cosine": "cosine_bin", "alike": "digit", "breaking": None, "scale": None}
    dims = {name: [*PLACE[: 2 + (name not in ("scale", "alike"))], last.get(name, "level")] for name in rows}
    return xr.Dataset(
        {name: ([d for d in dims[name] if d], value) for name, value in rows.items()},
        coords={
            "side": list(SIDES), "layer": range(LAYERS + 1), "pair": list(KINDS), "level": list(LEVELS),
            "digit": [0, 1], "inner_bin": _middles(INNER), "cosine_bin": _middles(COSINE),
        },
    )  # fmt: skip


def _features(net: nn.Sequential, x: Tensor) -> Iterator[tuple[str, int, Float[Tensor, "N n"]]]:
    for side in SIDES:
        yield side, 0, x.flatten(1)
    for layer, *both in layer_features(net, x):
        for side, f in zip(SIDES, both, strict=True):
            yield side, layer, f


def _summary(of_kind: Pairs, kind: str, scale: float) -> dict[str, np.ndarray | float]:
    breaking = of_kind.breaking(kind)
    inner = of_kind.inner / (scale or 1.0)
    return {
        "breaking": float(breaking.mean()),
        "inner": _shares(inner, INNER),
        "cosine": _shares(of_kind.cosine, COSINE),
        "inner_quantile": np.quantile(inner, LEVELS),
        "cosine_quantile": np.quantile(of_kind.cosine, LEVELS),
        "broken": np.quantile(np.abs(of_kind.cosine[breaking]), LEVELS) if breaking.any() else np.nan,
    }


def _shares(values: Float64[np.ndarray, " n"], edges: Float64[np.ndarray, " b"]) -> Float64[np.ndarray, " c"]:
    return np.histogram(values.clip(edges[0], edges[-1]), edges)[0] / len(values)


def _middles(edges: Float64[np.ndarray, " b"]) -> Float64[np.ndarray, " c"]:
    return ((edges[1:] + edges[:-1]) / 2).round(6)


def course(
    net: nn.Sequential, x: Float[Tensor, "N 1 28 28"], y: Int[Tensor, " N"]
) -> tuple[Fit, Float64[np.ndarray, "2 3"]]:
    """Measure a network during training, on held-out digits.

    Args:
        net: A ``digit_net``.
        x: Images, (N, 1, 28, 28).
        y: Labels 0 and 1, (N,).

    Returns:
        Loss and accuracy; and, for layer 7 after the ReLU and by kind of pair, the median cosine and the share of pairs
        that violate orthogonal separability, (2, 3).
    """
    *_, (_, _, f) = layer_features(net, x)
    by_kind = pairs(f, y)
    rows = [[np.median(by_kind[k].cosine) for k in KINDS], [by_kind[k].breaking(k).mean() for k in KINDS]]
    with torch.no_grad():
        logit = _linear(net, "fc8")(f)
    return Fit(float(cross_entropy(logit, y.float())), float(accuracy(logit, y.float()))), np.array(rows)


def _linear(net: nn.Sequential, name: str) -> nn.Linear:
    layer = net.get_submodule(name)
    assert isinstance(layer, nn.Linear)
    return layer


def singular_values(net: nn.Sequential) -> Float64[np.ndarray, " n"]:
    """Return all singular values of W₇, the largest first.

    Args:
        net: A ``digit_net``.
    """
    return finite_svd(_linear(net, "fc7").weight.detach().double())[1].numpy()


def neurons(net: nn.Sequential, x: Float[Tensor, "N 1 28 28"], y: Int[Tensor, " N"]) -> xr.Dataset:
    """Measure the rows of W₇: norms, places in the plane of the top two singular directions, and output weights W₈.

    With W₇ = UΣVᵀ, row j has the place (σ₁U_{j1}, σ₂U_{j2}). The signs of the two axes are arbitrary; they are chosen
    such that neurons with W₈[j] > 0 lie to the right on average, and the mean of the second coordinate is positive.
    ``active`` is the share of digits of each class on which a neuron is active.

    Args:
        net: A ``digit_net``.
        x: Images, (N, 1, 28, 28).
        y: Labels 0 and 1, (N,).
    """
    W, outer = _linear(net, "fc7").weight.detach().double(), _linear(net, "fc8").weight.detach().double()[0]
    U, S = finite_svd(W)
    place = U[:, :2] * S[:2]
    orientation = torch.stack([(place[:, 0] * outer).sum(), place[:, 1].sum()])
    place = place * torch.where(orientation < 0, -1.0, 1.0)
    *_, (_, _, f) = layer_features(net, x)
    active = torch.stack([(f[y == digit] > 0).double().mean(0) for digit in (0, 1)])
    return xr.Dataset(
        {
            "place": (("neuron", "axis"), place.numpy()),
            "norm": ("neuron", W.norm(dim=1).numpy()),
            "outer": ("neuron", outer.numpy()),
            "bias": ("neuron", _linear(net, "fc7").bias.detach().double().numpy()),
            "active": (("digit", "neuron"), active.numpy()),
        },
        coords={"neuron": range(1, len(W) + 1), "axis": [1, 2], "digit": [0, 1]},
    )
