"""Cases of the measurement of transfer risk, and the changes that keep its scale-free numbers."""

import math

import numpy as np
from changes import float32, multiplied, own_lengths, permuted, rotated, scaled
from measurement_battery import Case

UNITS = dict.fromkeys(("units permuted", "units rescaled"), "teacher and students are linear")


def gaussian(rng: np.random.Generator) -> dict:
    return {"data": rng.standard_normal((30, 4)), "teacher": rng.standard_normal(4), "n": "1,2,3", "sets": 5}


def angles(document: dict) -> dict:
    found = document["angles"]
    return {
        "rank": document["rank"], "least": found["least"], "largest": found["largest"], "kappa": document["kappa"],
        "quantiles": list(found["quantiles"].values()),
    }  # fmt: skip


def bounds(document: dict) -> dict:
    return angles(document) | {
        "band": document["band"], "bounds": [b for row in document["rows"] if math.isfinite(b := row["bound"])],
        "ranks": [row["rank"] for row in document["rows"]],
    }  # fmt: skip


def risks(document: dict) -> dict:
    return bounds(document) | {"risks": [row["risk"] for row in document["rows"]]}


WITH_RISK = (*scaled("data"), *multiplied("teacher", "teacher"), rotated("data", weights=("teacher",)),
             own_lengths("data"), float32("data", "teacher"))  # fmt: skip
CASES = {
    "transfer-risk": (
        Case("Gaussian points and a Gaussian teacher", gaussian, risks, WITH_RISK,
             {"permuted": "transfer sets are drawn by row numbers: tried without the risks",
              "repeated": "twice as many points have a narrower band, and sets with a point twice", **UNITS}),
        Case("without the measured risks", gaussian, bounds, (permuted("data"),),
             {"scaled": "tried with the risks", "rotated": "tried with the risks", "float32": "tried with the risks",
              "repeated": "twice as many points have a narrower band, and sets with a point twice", **UNITS}),
    ),
}  # fmt: skip
