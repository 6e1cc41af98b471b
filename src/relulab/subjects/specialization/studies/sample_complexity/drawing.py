"""The figure of loss and correlation versus the number of training points."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.interval import interval
from relulab.lab.show.figure import COAL, GRAY, headline, legend, log_ticks, look, panels
from relulab.subjects.specialization.studies.teacher_aware.drawing import apart

TITLES = {"mse": "squared error", "cross-entropy": "cross-entropy"}


def drawn_by_samples(result: xr.Dataset, losses: Sequence[str], over: int) -> Figure:
    """Plot the evaluation loss and ρ_mean of every layer, one row per loss.

    Args:
        result: The result of the study.
        losses: The losses.
        over: Width of the students.
    """
    start, last = result.epoch.values.min(), result.epoch.values.max()
    figure, axes = panels(len(losses), 2, width=3.0, sharex=True)
    for loss, row in zip(losses, axes, strict=True):
        of_loss = result.sel(loss=loss, over=over)
        of_loss = of_loss.sel(points=of_loss.rho.notnull().any(("seed", "layer", "epoch")))
        end = of_loss.sel(epoch=last)
        _line(row[0], end.evaluation, label=None, style={"color": COAL, "marker": "o"})
        before = float(of_loss.evaluation.sel(epoch=start).mean())
        row[0].axhline(before, color=GRAY, ls=":", lw=1)
        row[0].set(title=TITLES[loss], ylabel="evaluation loss", yscale="log" if loss == "mse" else "linear")
        for layer in result.layer.values.tolist():
            _line(row[1], end.rho.sel(layer=layer), f"layer {layer}", look(layer))
        row[1].set(title=TITLES[loss], ylabel="ρ_mean", ylim=(0, 1.02))
    ticks = apart(result.points.values.tolist())
    for ax in axes.flat:
        log_ticks(ax, ticks)
        ax.set_xticklabels([f"{N / 1000:g}" for N in ticks])
    for ax in axes[-1]:
        ax.set_xlabel("training points, in thousands")
    headline(figure, f"{over}× students, mean and 95% interval over {result.sizes['seed']} seeds")
    legend(figure, axes[0, 1])
    return figure


def _line(ax: Axes, values: xr.DataArray, label: str | None, style: dict) -> None:
    mean, half = interval(values.transpose("seed", "points"))
    ax.plot(mean.points, mean, ms=4, label=label, **style)
    low = np.maximum(mean - half, mean / 10)  # a logarithmic axis has no place for numbers below 0
    ax.fill_between(mean.points, low, mean + half, color=style["color"], alpha=0.15, lw=0)
