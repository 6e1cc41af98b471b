"""Claims about SS figure 3 and S0 figure 2: students in the plane."""

import numpy as np
import torch
import xarray as xr

from relulab.lab.claim import rank_correlation
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.studies.statements import Statement
from relulab.subjects.specialization.tools.nodes import Nodes


def with_another_teacher(result: xr.Dataset) -> xr.Dataset:
    """Return the first and the last moment, with alignment errors relative to the teacher of the seed before.

    Args:
        result: The result of the study.
    """
    ends = result.isel(step=[0, -1]).transpose("step", "seed", ...)
    other = ends.roll(seed=1)
    star, students = (
        Nodes(*(torch.from_numpy(data[name].values.copy()) for name in names))
        for data, names in ((other, ("w_star", "b_star")), (ends, ("w", "b")))
    )
    errors = [alignment(star, Nodes(students.w[i], students.b[i])).numpy() for i in range(2)]
    return ends.assign(error=(("step", "seed", "node", "student"), np.stack(errors)))


def statements(result: xr.Dataset, tolerance: float) -> list[Statement]:
    """State what the captions of the figures and theorems 1 and 2 of SS say.

    Args:
        result: The result of the study.
        tolerance: Alignment error up to which a student counts as aligned.
    """
    first, last = (result.isel(step=i).transpose("seed", ...) for i in (0, -1))
    nearest = last.error.min("node")
    fan_out = Statement(
        "SS.F3.fan-out",
        "Students far from every teacher node have a small fan-out",
        rank_correlation(nearest.values, last.fan_out.values),
        "<",
        within=(-1, 1),
        statistic="rank correlation between alignment error and fan-out over the students of a network",
    )
    return [
        *_aligned(first, last, tolerance),
        *([fan_out] if result.sizes["student"] > 1 else []),
        *_unaligned(first, last, nearest > tolerance),
    ]


def _aligned(first: xr.Dataset, last: xr.Dataset, tolerance: float) -> list[Statement]:
    """State that every teacher node gets an aligned student, and that students come closer."""
    at_start, at_end = (snapshot.error.min("student").max("node") for snapshot in (first, last))
    covered, seeds = int((at_end <= tolerance).sum()), last.sizes["seed"]
    return [
        Statement(
            "SS.F3.aligned",
            "In most seeds, every teacher node gets an aligned student",
            (at_end <= tolerance).values.astype(float),
            bound=0.5,
            note=f"In {covered} of {seeds} seeds, every teacher node has a student with an error up to {tolerance:g}.",
            within=(0, 1),
            statistic=f"share of seeds in which every teacher node has a student with an error up to {tolerance:g}",
            trials=1,
        ),
        Statement(
            "SS.F3.closer",
            "Students come closer to the worst-covered teacher node",
            (np.log10(at_end) - np.log10(at_start)).values,
            "<",
            statistic="log₁₀ alignment error of the worst teacher node, change from start to end",
        ),
    ]


def _unaligned(first: xr.Dataset, last: xr.Dataset, unaligned: xr.DataArray) -> list[Statement]:
    """State that students that are not aligned fade and contribute nothing."""
    shrunk = (~unaligned | (last.fan_out < first.fan_out)).all("student")
    empty, seeds = int((~unaligned).all("student").sum()), last.sizes["seed"]
    note = f"{empty} of {seeds} seeds have no un-aligned student." if empty else "Every seed has un-aligned students."
    left_out = f"{note[:-1]} and are left out." if empty else note
    return [
        Statement(
            "S0.F2.fade",
            "In most seeds, all un-aligned students lose fan-out",
            shrunk.values.astype(float),
            bound=0.5,
            note=f"{left_out} S0 says that their fan-out goes to zero.",
            within=(0, 1),
            statistic="share of seeds in which every un-aligned student ends with a smaller fan-out than it started "
            "with",
            trials=1,
            among=unaligned.any("student").values,
        ),
        Statement(
            "SS.F3.share",
            "Un-aligned students together contribute nothing",
            last.share.values,
            "<",
            bound=0.01,
            note=note,
            within=(0, np.inf),
            statistic="share of the output's variance due to the un-aligned students, at the end of training",
        ),
    ]
