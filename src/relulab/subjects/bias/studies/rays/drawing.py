"""Panels of IB figures 1 and 2: singular values, projected neurons and correlations."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import ASH, BLUE, RED, TEAL, panels

POSITIVE, NEGATIVE, PLAIN = RED, BLUE, TEAL


def singular_values(ax: Axes, result: xr.Dataset, layer: int) -> None:
    """Plot the singular values of all seeds; the dotted line is the largest one before training.

    Args:
        ax: The panel.
        result: The result of the study.
        layer: The layer, from 1.
    """
    start, s = (result.singular.sel(when=when, layer=layer) for when in ("start", "end"))
    ax.plot(s["rank"], s.transpose("rank", "seed"), "o", color=PLAIN, ms=3, alpha=0.4)
    ax.axhline(float(start.max("rank").mean()), color=ASH, lw=0.8, ls=":")
    ax.set(title=f"weights $W_{layer}$ of layer {layer}", xlabel="rank", xticks=[1, 2, 3, 5, 10], ylim=(0, None))
    ax.set_ylabel("singular value")


def projected(ax: Axes, result: xr.Dataset, layer: int) -> None:
    """Plot the neurons of the first seed in the plane of the top two singular directions, colored by output weight.

    Args:
        ax: The panel.
        result: The result of the study.
        layer: The layer, from 1.
    """
    network = result.isel(seed=0).sel(when="end")
    x = network.projected.sel(layer=layer)
    for sign, color, marker, label in ((1, POSITIVE, "o", "positive"), (-1, NEGATIVE, "^", "negative")):
        rows = x[np.sign(network.outer.values) == sign]
        style = {"color": color, "ms": 3, "alpha": 0.7, "label": f"{label} output weight"}
        ax.plot(rows.isel(axis=0), rows.isel(axis=1), marker, **style)
    ax.set(title=f"neurons (rows of $W_{layer}$), seed {int(network.seed)}")
    ax.set(xlabel="first singular direction", ylabel="second singular direction")


def correlations(ax: Axes, result: xr.Dataset) -> None:
    """Plot the histogram of the correlations of neurons with max-margin directions.

    Args:
        ax: The panel.
        result: The result of the study.
    """
    values, seeds = result.correlation.sel(when="end").values, result.sizes["seed"]
    ax.hist(values.ravel(), bins=np.linspace(-1, 1, 41).tolist(), weights=np.full(values.size, 1 / seeds), color=PLAIN)
    ax.axvline(0.9, color=ASH, lw=0.8, ls=":")
    ax.set(title="direction of neurons", xlabel="cosine with\nmax-margin direction", ylabel="neurons per network")
    ax.set_xlim(-1, 1.02)


def history(result: xr.Dataset) -> Figure:
    """Plot the loss and the share of aligned neurons over training.

    Args:
        result: The result of the study.
    """
    figure, axes = panels(1, 2, width=3.0, height=2.4)
    labels = ("mean loss", "share with cosine above 0.9")
    for ax, name, scale, label in zip(axes[0], ("loss", "aligned"), ("log", "linear"), labels, strict=True):
        y = result[name].transpose("epoch", "seed")
        ax.plot(y.epoch, y, color=PLAIN, lw=0.8, alpha=0.4)
        ax.set(xscale="symlog", xlabel="epoch", ylabel=label, yscale=scale, xlim=(0, None))
    axes[0, 1].set_ylim(0, 1)
    return figure
