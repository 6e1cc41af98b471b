"""What SS figure 3 and S0 figure 2 say of students in the plane."""

import numpy as np
import xarray as xr

from relulab.lab.claim import rank_correlation
from relulab.subjects.specialization.studies.statements import Statement


def statements(result: xr.Dataset, tolerance: float) -> list[Statement]:
    """What the papers say under the picture and in theorems 1 and 2, in numbers.

    Args:
        result: of the study.
        tolerance: the alignment error up to which a student counts as aligned.
    """
    seeds = result.sizes["seed"]
    first, last = (result.isel(step=i).transpose("seed", ...) for i in (0, -1))
    worst = [at.error.min("student").max("node") for at in (first, last)]
    nearest = last.error.min("node")
    apart, v = nearest > tolerance, last.fan_out
    faded = (~apart | (v < first.fan_out)).all("student")
    covered, none = int((worst[1] <= tolerance).sum()), int((~apart).all("student").sum())
    empty = f"{none} of {seeds} seeds have no un-aligned student." if none else "Every seed has some."
    return [
        Statement(
            "SS.F3.aligned",
            "Every teacher node gets a student on its line: log₁₀ alignment error of the worst node, end less start",
            (np.log10(worst[1]) - np.log10(worst[0])).values,
            "<",
            note=f"In {covered} of {seeds} seeds every node ends within {tolerance:g}.",
        ),
        Statement(
            "SS.F3.fan-out",
            "Students far from every teacher node have small fan-out: rank correlation of alignment error and "
            "‖v_k‖ over the students of a network",
            rank_correlation(nearest.values, v.values),
            "<",
            within=(-1, 1),
        ),
        Statement(
            "S0.F2.fade",
            "‖v_k‖ goes to zero for students that are not aligned: share of seeds in which each of them ends "
            "below its start",
            faded.values.astype(float),
            bound=0.5,
            note=empty,
            within=(0, 1),
        ),
        Statement(
            "SS.F3.share",
            "Un-aligned students together add nothing: their share of the variance of the output, at the end",
            last.share.values,
            "<",
            bound=0.01,
            note=empty,
            within=(0, np.inf),
        ),
    ]
