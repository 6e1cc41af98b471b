"""Figures on lottery tickets."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import BLUE, GRAY, INK, RED, headline, legend, look, panels

DASHED = ("random", "redrawn")  # controls


def courses(result: xr.Dataset, arms: Mapping[str, str]) -> Figure:
    """Plot the losses over the epochs, one panel per number of nodes that are kept.

    Args:
        result: The result of the study, with losses as shares of the variance.
        arms: The arms and what they are in words.
    """
    figure, axes = panels(1, result.sizes["keep"], width=2.8, height=2.6, sharey=True)
    for ax, keep in zip(axes[0], result.keep.values, strict=True):
        _line(ax, result.epoch, np.log10(result.full), color=INK, label="full student")
        for i, (arm, words) in enumerate(arms.items()):
            style = {**look(i), "ls": "--" if arm in DASHED else "-", "ms": 3}
            _line(ax, result.epoch, np.log10(result.loss.sel(arm=arm, keep=keep)), label=words, **style)
        ax.set(title=f"{keep:g}× the teacher's nodes", xlabel="epoch")
        ax.set_xscale("symlog", linthresh=1)
    axes[0, 0].set_ylabel("log₁₀ evaluation loss")
    headline(figure, f"{result.sizes['seed']} seeds")
    legend(figure, axes[0, 0], columns=3)
    return figure


def sizes(result: xr.Dataset, arms: Mapping[str, str]) -> Figure:
    """Plot the losses at the end, and directly after pruning, versus the number of nodes that are kept.

    Args:
        result: The result of the study, with losses as shares of the variance.
        arms: The arms and what they are in words.
    """
    figure, axes = panels(1, 2, width=3.4, height=2.8)
    left, right = axes[0]
    end = result.isel(epoch=-1)
    full = np.log10(end.full)
    for ax in (left, right):
        _line(ax, result.keep, full.expand_dims(keep=result.keep), color=INK, label="full student")
        ax.set(xlabel="nodes that are kept / nodes of the teacher", xticks=result.keep.values)
    for i, (arm, words) in enumerate(arms.items()):
        style = {**look(i), "ls": "--" if arm in DASHED else "-", "ms": 4}
        _line(left, result.keep, np.log10(end.loss.sel(arm=arm)), label=words, **style)
        if arm in result.by.values:
            _line(right, result.keep, np.log10(result.cut.sel(by=arm)), **style)
    left.set(ylabel="log₁₀ evaluation loss", title="trained again")
    right.set(ylabel="log₁₀ evaluation loss", title="directly after pruning")
    legend(figure, left, columns=3)
    return figure


def luck(result: xr.Dataset) -> Figure:
    """Plot how near nodes that are kept and other nodes started to teacher nodes.

    Args:
        result: The result of the study.
    """
    figure, axes = panels(1, 1, width=3.4, height=3)
    ax = axes[0, 0]
    mean = result.lucky.mean("keep")
    for by, words, color, marker in (
        ("modulation", "winners by modulation", BLUE, "o"), ("random", "random nodes", RED, "s"),
    ):  # fmt: skip
        at = mean.sel(by=by)
        ax.plot(at.sel(side="other"), at.sel(side="kept"), marker, color=color, ms=4, label=words)
    low, high = float(mean.min()), float(mean.max())
    ax.plot([low, high], [low, high], color=GRAY, lw=0.8)
    ax.set(xlabel="start of the other nodes", ylabel="start of the nodes that are kept")
    headline(figure, "Mean best correlation with a teacher node before training")
    legend(figure, ax)
    return figure


def _line(ax: Axes, x: xr.DataArray, values: xr.DataArray, **style) -> None:
    """Plot means over seeds with two standard errors."""
    along = values.transpose("seed", x.name)
    mean, count = along.mean("seed"), along.sizes["seed"]
    error = 2 * along.std("seed", ddof=1) / np.sqrt(count) if count > 1 else 0 * mean
    ax.plot(x, mean, **style)
    ax.fill_between(x, mean - error, mean + error, color=style.get("color"), alpha=0.15, lw=0)
