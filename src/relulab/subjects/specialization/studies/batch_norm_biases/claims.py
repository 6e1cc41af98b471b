"""Claims about the biases of BatchNorm, for every network."""

import re

import numpy as np
import xarray as xr

from relulab.core.share import share
from relulab.lab.claim import FEWEST, Claim, claim_on_interval
from relulab.nets.batch_norm_layers import Place
from relulab.subjects.specialization.studies.batch_norm_biases.measures import counts
from relulab.subjects.specialization.tools.layer_biases import trend

NAMED = 6  # largest number of layers that a note names


def claims_of(result: xr.Dataset) -> list[Claim]:
    """Judge two claims for every network.

    Args:
        result: The result of the study.
    """
    names = result.network.values.tolist()
    keys = [re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "network" for name in names]
    keys = [key if keys.count(key) == 1 else f"{key}-{i}" for i, key in enumerate(keys, 1)]
    claims = []
    for name, key in zip(names, keys, strict=True):
        claims += [_majority(result, name, key), _upper(result, name, key)]
    return claims


def _majority(result: xr.Dataset, name: str, key: str) -> Claim:
    negative, total = counts(result, name)
    n, of = int(negative.sum()), int(total.sum())
    return claim_on_interval(
        f"LM.F6.majority-{key}", f"Most biases of BatchNorm are negative in {name}", share(n, of), ">", 0.5,
        f"{of:,} biases", f"{_by_place(result, name)} {_exceptions(result, name)}".strip(),
        "share of negative biases in all layers, with its exact interval",
    )  # fmt: skip


def _upper(result: xr.Dataset, name: str, key: str) -> Claim:
    negative, total = counts(result, name)
    shares = (negative / total).values
    third = -(-len(shares) // 3)
    note = (
        f"It is {shares[:third].mean():.0%} on average in the lowest third of the layers, {shares[-third:].mean():.0%} "
        f"in the uppermost third, and {shares[-1]:.0%} in the uppermost layer."
    )
    judged = claim_on_interval(
        f"LM.F6.upper-{key}", f"More biases of BatchNorm are negative in the upper layers of {name}", trend(shares),
        ">", 0.0, f"{len(shares):,} layers", note,
        "rank correlation between the share of negative biases in a layer and its depth",
    )  # fmt: skip
    return judged if len(shares) >= FEWEST else judged.unjudged(f"{len(shares)} layers, a verdict needs {FEWEST}")


def _by_place(result: xr.Dataset, name: str) -> str:
    """The share of negative biases by the place of BatchNorm."""
    negative, total = counts(result, name)
    places = result.place.sel(network=name).values[: len(total)]
    parts = []
    for place in Place:
        here = places == place.value
        if here.any():
            n, of = int(negative[here].sum()), int(total[here].sum())
            parts.append(f"{n / of:.0%} of {of:,} biases of a BatchNorm {_words(place)}")
    after = " After a ReLU, a negative bias does not say how often a unit is active." if _only(places) else ""
    return f"Negative are {', '.join(parts)}.{after}"


def _words(place: Place) -> str:
    return "whose place is unknown" if place is Place.UNKNOWN else place.value


def _only(places: np.ndarray) -> bool:
    return bool((places == Place.AFTER.value).all())


def _exceptions(result: xr.Dataset, name: str) -> str:
    """The layers in which at most half of the biases are negative."""
    negative, total = counts(result, name)
    few = np.flatnonzero(2 * negative.values <= total.values)
    if not len(few):
        return ""
    names = [str(result.name.sel(network=name).values[i]) for i in few]
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"In {len(few):,} of {len(total):,} layers, at most half are negative: {', '.join(names[:NAMED])}{more}."
