"""The figures of correlations, ranks and losses through training."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import COAL, headline, legend, look, panels


def drawn_courses(result: xr.Dataset, about: str) -> Figure:
    """Draw the mean best correlation and the mean rank of every layer, one column for each kind of students.

    Args:
        result: The result of the study.
        about: The headline.
    """
    figure, axes = _columns(result, about)
    for arm, column in zip(result.arm.values.tolist(), axes.T, strict=True):
        for ax, name in zip(column, ("rho", "mean_rank"), strict=True):
            _layers(ax, result[name].sel(arm=arm))
    axes[0, 0].set(ylabel="mean best correlation ρ̄", ylim=(0, 1.02))
    axes[1, 0].set(ylabel="mean rank r̄", ylim=(0, None))
    legend(figure, axes[0, 0])
    return figure


def drawn_losses(result: xr.Dataset, about: str) -> Figure:
    """Draw the evaluation loss, and the median rank of every layer, one column for each kind of students.

    Args:
        result: The result of the study.
        about: The headline.
    """
    figure, axes = _columns(result, about)
    unexplained = result.loss / result.variance
    for arm, (loss, rank) in zip(result.arm.values.tolist(), axes.T, strict=True):
        _line(loss, unexplained.sel(arm=arm), {"color": COAL, "marker": "o"}, "evaluation loss")
        _layers(rank, result.median_rank.sel(arm=arm))
    axes[0, 0].set(ylabel="share of variance left", yscale="log")
    axes[1, 0].set(ylabel="median rank", ylim=(0, None))
    legend(figure, *axes[:, 0])
    return figure


def _columns(result: xr.Dataset, about: str) -> tuple[Figure, Any]:
    figure, axes = panels(2, result.sizes["arm"], sharex=True, sharey="row", width=2.0)
    for arm, column in zip(result.arm.values.tolist(), axes.T, strict=True):
        column[0].set_title(arm)
        column[1].set_xlabel("epoch")
        column[1].xaxis.get_major_locator().set_params(integer=True)
    headline(figure, about)
    return figure, axes


def _layers(ax: Axes, values: xr.DataArray) -> None:
    for layer in values.layer.values.tolist():
        _line(ax, values.sel(layer=layer), look(layer), f"layer {layer}")


def _line(ax: Axes, values: xr.DataArray, style: dict[str, Any], label: str) -> None:
    """The mean over seeds, and the range from the smallest to the largest."""
    values = values.mean("over")
    ax.plot(values.epoch, values.mean("seed"), ms=3, label=label, **style)
    ax.fill_between(values.epoch, values.min("seed"), values.max("seed"), color=style["color"], alpha=0.15, lw=0)
