"""Cases of the measurements on labeled tables, and the changes that keep their scale-free numbers."""

import numpy as np
import torch
from changes import (
    exchanged,
    float32,
    outputs_scaled,
    own_lengths,
    permuted,
    repeated,
    rotated,
    scaled,
    units_permuted,
    units_rescaled,
)  # fmt: skip
from measurement_battery import Case

from relulab.data.labeled import Labeled
from relulab.nets.mlp import MLP
from relulab.subjects.bias.tools.orthants import SpanningSupports

UNITS = dict.fromkeys(("units permuted", "units rescaled"), "no network is given")


def spanning(rng: np.random.Generator) -> dict:
    return {"data": SpanningSupports(3).draw(rng, 12)}


def mixed(rng: np.random.Generator) -> dict:
    """Points that are not separable."""
    return {"data": Labeled(torch.from_numpy(rng.standard_normal((10, 3))), torch.tensor([1.0, -1.0] * 5).double())}


def cosines(document: dict) -> dict:
    (row,) = document["layers"]
    return {
        "separable": row["separable"], "violation": row["cosine_violation"],
        "equal": row["equal"]["least_cosine"]["cosine"], "different": row["different"]["greatest_cosine"]["cosine"],
    }  # fmt: skip


def counts(document: dict) -> dict:
    (row,) = document["layers"]
    return cosines(document) | {kind: row[kind]["broken"] for kind in ("equal", "different")}


def vectors(document: dict) -> dict:
    sides = document["positive"], document["negative"]
    return {
        "cosine": document["cosine"], "separable": document["separable"], "applies": document["applies"],
        "ranks": sorted(side["rank"] for side in sides),
        "margins": sorted(side["margin"] / max(s["margin"] for s in sides) for side in sides),
    }  # fmt: skip


def merged(rng: np.random.Generator) -> dict:
    """A network of random neurons and separable points, too few to set some aside."""
    net = MLP((3, 8, 1), bias=False, dtype=torch.float64)
    for W in net.W:
        W.data.copy_(torch.from_numpy(rng.standard_normal(W.shape)))
    return {"network": net, **spanning(rng)}


def pruned(document: dict) -> dict:
    keys = ("positive", "negative", "off", "tested", "relative", "cosines")
    shares = {"same": document["same"], "before": document["accuracy"][0], "after": document["accuracy"][1]}
    return {key: document[key] for key in keys} | {name: share["value"] for name, share in shares.items()}


TABLE = (*scaled("data"), rotated("data"), permuted("data"), exchanged("data"), float32("data"))
CASES = {
    "separability": (
        Case("separable points", spanning, cosines, (*TABLE, own_lengths("data"), repeated("data")), UNITS),
        Case("other points", mixed, counts, (*TABLE, own_lengths("data")),
             {"repeated": "pairs of points are counted", **UNITS}),
    ),
    "two-neurons": (
        Case("random neurons", merged, pruned,
             (*scaled("data", weights=("network",)), rotated("data", weights=("network",)), permuted("data"),
              float32("data", "network"), units_permuted("network"), units_rescaled("network"),
              *outputs_scaled("network")),
             {"repeated": "points are counted"}),
    ),
    "max-margin": (Case("supports that span", spanning, vectors, (*TABLE, repeated("data")), UNITS),),
}  # fmt: skip
