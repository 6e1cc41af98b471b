"""Panels of IB figures 1 and 2: singular values, projected neurons, correlations."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import ASH, BLUE, ORANGE, TEAL, panels

POSITIVE, NEGATIVE, PLAIN = ORANGE, BLUE, TEAL


def singular_values(ax: Axes, result: xr.Dataset, layer: int) -> None:
    s = result.singular.sel(layer=layer)
    ax.plot(s["rank"], s.transpose("rank", "seed"), "o", color=PLAIN, ms=3, alpha=0.4)
    ax.axhline(float(result.start.sel(layer=layer).mean()), color=ASH, lw=0.8, ls=":")
    ax.set(title=f"singular values of $W_{layer}$", xlabel="number", xticks=[1, 2, 3, 5, 10], ylim=(0, None))


def projected(ax: Axes, result: xr.Dataset, layer: int) -> None:
    """The neurons of the first seed on the two top singular directions; colors are signs of outer weights."""
    one = result.isel(seed=0)
    x = one.projected.sel(layer=layer)
    for sign, color, words in ((1, POSITIVE, "a > 0"), (-1, NEGATIVE, "a < 0")):
        here = x[np.sign(one.outer.values) == sign]
        ax.plot(here.isel(axis=0), here.isel(axis=1), "o", color=color, ms=3, alpha=0.7, label=words)
    ax.set(title=f"rows of $W_{layer}$, seed {int(one.seed)}", xlabel="first singular direction", ylabel="second")


def correlations(ax: Axes, result: xr.Dataset) -> None:
    values, seeds = result.correlation.values, result.sizes["seed"]
    ax.hist(values.ravel(), bins=np.linspace(-1, 1, 41).tolist(), weights=np.full(values.size, 1 / seeds), color=PLAIN)
    ax.axvline(0.9, color=ASH, lw=0.8, ls=":")
    ax.set(title="correlation with max-margin", xlabel="cosine", ylabel="neurons a network", xlim=(-1, 1.02))


def history(result: xr.Dataset) -> Figure:
    """Loss and aligned share over training."""
    figure, axes = panels(1, 2, width=3.0, height=2.4)
    for ax, name, scale, words in zip(
        axes[0], ("loss", "aligned"), ("log", "linear"), ("mean loss", "neurons over 0.9"), strict=True
    ):
        y = result[name].transpose("epoch", "seed")
        ax.plot(y.epoch, y, color=PLAIN, lw=0.8, alpha=0.4)
        ax.set(xscale="symlog", xlabel="epoch", ylabel=words, yscale=scale, xlim=(0, None))
    axes[0, 1].set_ylim(0, 1)
    return figure
