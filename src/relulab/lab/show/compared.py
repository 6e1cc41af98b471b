"""Figures of a comparison: statistics of each setting with intervals, and their course with bands."""

from __future__ import annotations

from math import ceil, isnan
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.compared_claims import Statistic, courses, part, statistics
from relulab.lab.interval import interval
from relulab.lab.show.figure import CLOUD, GRAY, legend, look, panels
from relulab.lab.show.words import number

if TYPE_CHECKING:
    from relulab.lab.comparison import Comparison

COLUMNS = 4  # panels in a row


def figures(study: Comparison, result: xr.Dataset) -> dict[str, Figure]:
    """Return the figures of a comparison, followed by those of the study for each setting.

    Args:
        study: The comparison.
        result: Its result.
    """
    drawn = {}
    if moving := courses(study, result):
        drawn["courses"] = _courses(moving)
    if fixed := statistics(study, result):
        drawn["differences"] = _differences(fixed)
    for k, (label, one) in enumerate(study.settings.items(), 1):
        for name, figure in one.figures(part(result, label)).items():
            figure.suptitle("\n".join(filter(None, (label, figure.get_suptitle()))), fontsize=9)
            drawn[f"{name}-setting{k}"] = figure
    return drawn


def _courses(moving: dict[str, dict[str, xr.DataArray]]) -> Figure:
    figure, axes = panels(2, len(moving), width=3.6, height=2.2, sharex="col")
    for (top, bottom), (words, of) in zip(axes.T, moving.items(), strict=True):
        first, *others = of
        for i, (label, values) in enumerate(of.items()):
            _band(top, values, i, label)
        for i, label in enumerate(others, 1):
            _band(bottom, of[label] - of[first], i, label)
        bottom.axhline(0, color=GRAY, lw=0.8)
        top.set_title(fill(words, 44), fontsize=8)
        bottom.set(xlabel=_axis(of[first]), ylabel=f"difference from\n{first}")
    legend(figure, axes[0, 0])
    return figure


def _difference(one: Statistic, first: str, label: str) -> str:
    mean, half = map(float, interval(xr.DataArray(one.values[label] - one.values[first], dims="seed")))
    if isnan(mean):
        return "difference undefined"
    return f"difference {number(mean)} [{number(mean - half)}, {number(mean + half)}]"


def _axis(values: xr.DataArray) -> str:
    return next(str(dim) for dim in values.dims if dim != "seed")


def _band(ax: Axes, values: xr.DataArray, i: int, label: str) -> None:
    mean, half = interval(values)
    x = mean[_axis(values)]
    ax.plot(x, mean, label=label, markevery=max(1, x.size // 10), ms=4, **look(i))
    ax.fill_between(x, mean - half, mean + half, color=look(i)["color"], alpha=0.2, lw=0)


def _differences(fixed: list[Statistic]) -> Figure:
    columns = min(COLUMNS, len(fixed))
    rows = ceil(len(fixed) / columns)
    figure, axes = panels(rows, columns, width=2.5, height=2.3)
    for ax in axes.flat[len(fixed) :]:
        ax.remove()
    for ax, one in zip(axes.flat, fixed, strict=False):
        labels, values = list(one.values), np.array(list(one.values.values()))
        ax.plot(range(len(labels)), values, color=CLOUD, lw=0.7)
        mean, half = interval(xr.DataArray(values, dims=("setting", "seed")))
        for k in range(len(labels)):
            ax.errorbar(k, mean[k], half[k], ms=4, capsize=3, zorder=3, **look(k) | {"ls": "none"})
        ax.set_xticks(range(len(labels)), [label.replace(", ", "\n") for label in labels], fontsize=7)
        ax.set_xlim(-0.5, len(labels) - 0.5)
        ax.set_title(fill(one.words, 34), fontsize=7)
        ax.set_xlabel("\n".join(_difference(one, labels[0], label) for label in labels[1:]), fontsize=7)
    return figure
