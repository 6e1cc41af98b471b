"""Figures of the biases of BatchNorm in saved networks."""

import numpy as np
import torch
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from relulab.core.share import clopper_pearson
from relulab.lab.show.figure import ASH, legend, look, panels
from relulab.nets.batch_norm_layers import Place
from relulab.subjects.specialization.instruments.batch_norm_bias import active_share
from relulab.subjects.specialization.studies.batch_norm_biases.measures import counts
from relulab.subjects.specialization.tools.bias_picture import bias_picture, shortened

COLUMNS = 2
PLACES = {
    Place.RELU.value: (0, "before a ReLU"), Place.ADDITION.value: (1, "before an addition"),
    Place.AFTER.value: (2, "after a ReLU"), Place.ELSEWHERE.value: (3, "elsewhere or unknown"),
    Place.UNKNOWN.value: (3, "elsewhere or unknown"),
}  # fmt: skip


def histograms(result: xr.Dataset) -> Figure:
    """Draw histograms of the biases of some layers of every network.

    Args:
        result: The result of the study.
    """
    networks = {}
    for name in result.network.values.tolist():
        of = result.sel(network=name)
        rows = [(str(title), row[~np.isnan(row)]) for title, row in zip(of.name.values, of.c_1.values, strict=True)]
        networks[name] = {title: row for title, row in rows if len(row)}
    return bias_picture(networks)


def shares(result: xr.Dataset) -> Figure:
    """Plot the share of negative biases and the expected share of active samples by layer, one panel per network.

    Args:
        result: The result of the study.
    """
    names = result.network.values.tolist()
    columns = min(COLUMNS, len(names))
    figure, axes = panels(-(-len(names) // columns), columns, width=3.2, height=1.9, sharey=True)
    for ax, name in zip(axes.flat, names, strict=False):
        _panel(ax, result, name)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("share of negative biases")
    named: dict[str, Axes] = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handle.set_label("_" if label in named else label)  # every label once
            named.setdefault(label, ax)
    legend(figure, *dict.fromkeys(named.values()))
    return figure


def _panel(ax: Axes, result: xr.Dataset, name: str) -> None:
    negative, total = (values.values for values in counts(result, name))
    of, depth = result.sel(network=name), np.arange(1, len(total) + 1)
    places = of.place.values[: len(total)]
    low, high = np.transpose([clopper_pearson(float(k), int(n)) for k, n in zip(negative, total, strict=True)])
    ax.axhline(0.5, color=ASH, ls=":", lw=1)
    for i, label in dict.fromkeys(PLACES.values()):
        here = np.array([PLACES[str(place)] == (i, label) for place in places])
        if here.any():
            style = {"color": look(i)["color"], "marker": look(i)["marker"]}
            ax.vlines(depth[here], low[here], high[here], color=style["color"], lw=0.7, alpha=0.6)
            ax.plot(depth[here], (negative / total)[here], ls="none", ms=4, label=label, **style)
    gated = np.isin(places, [Place.RELU.value, Place.UNKNOWN.value])
    if gated.any():
        c_1, c_0 = (torch.from_numpy(of[key].values[: len(total)]) for key in ("c_1", "c_0"))
        active = np.nanmean(np.where(np.isnan(of.c_1.values[: len(total)]), np.nan, active_share(c_1, c_0)), 1)
        ax.plot(depth[gated], active[gated], "x", color=ASH, ms=4, label="expected share of active samples")
    ax.set(title=shortened(name, 30), xlabel="layer, from the lowest", ylim=(-0.03, 1.03))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
