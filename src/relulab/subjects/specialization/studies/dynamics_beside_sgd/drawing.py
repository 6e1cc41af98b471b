"""The figure of the mean dynamics beside SGD."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import ASH, legend, look, panels

ARMS = {"sgd": "SGD", "exact": "exact gradient flow", "mean": "equation 6"}


def drawn(result: xr.Dataset) -> Figure:
    """Draw losses, correlations by layer, and the difference of the velocities.

    Args:
        result: The result of the study.
    """
    layers = result.layer.values
    figure, axes = panels(2, len(layers) + 1, width=2.4, height=2.1, sharex=True)
    for i, (arm, name) in enumerate(ARMS.items()):
        one = result.sel(arm=arm)
        _line(axes[0, 0], np.log10(one.loss), i, name)
        _line(axes[1, 0], one.distance, i, name)
        for ax, l in zip(axes[0, 1:], layers, strict=True):
            _line(ax, one.rho.sel(layer=l), i, name)
    for column, l in zip(axes[:, 1:].T, layers, strict=True):
        column[0].set(title=f"layer {l}", ylim=(0, 1.02))
        for i, (name, label) in enumerate((("gap", "relative difference"), ("cosine", "cosine"))):
            _line(column[1], result[name].sel(layer=l), i + 3, f"{label} of both velocities")
        column[1].axhline(0, color=ASH, lw=0.8)
    axes[0, 0].set(title="all layers", ylabel="log₁₀ loss")
    axes[1, 0].set(ylabel="distance from SGD")
    axes[0, 1].set_ylabel("mean best correlation")
    axes[1, 1].set_ylabel("eq. 6 and gradient")
    for ax in axes[-1]:
        ax.set_xlabel("time")
    legend(figure, axes[0, 0], axes[1, 1])
    return figure


def _line(ax: Axes, values: xr.DataArray, i: int, label: str) -> None:
    """Draw the mean over seeds with two standard errors."""
    values = values.transpose("time", "seed")
    mean = values.mean("seed")
    ax.plot(values.time, mean, ms=3, label=label, **look(i))
    if values.sizes["seed"] > 1:
        error = 2 * values.std("seed", ddof=1) / np.sqrt(values.sizes["seed"])
        ax.fill_between(values.time, mean - error, mean + error, color=look(i)["color"], alpha=0.2, lw=0)
