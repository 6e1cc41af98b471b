"""Figures of the drift of norms against the step size."""

from collections.abc import Mapping
from itertools import count

import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.interval import interval
from relulab.lab.show.figure import ASH, INK, legend, look, panels


def drift(result: xr.Dataset, time: float) -> Figure:
    """Plot the drift with and without BatchNorm, and what orthogonal gradients give.

    Args:
        result: The result of the study.
        time: The time of gradient descent.
    """
    names = {"before": "BatchNorm before the ReLU", "after": "BatchNorm after the ReLU", "none": "no BatchNorm"}
    figure = _panels(result, time, names)
    for ax, network in zip(figure.axes, result.network.values, strict=True):
        for label, arm in zip(("orthogonal gradients", "_"), ("before", "after"), strict=True):
            mean = result.predicted.sel(network=network, arm=arm).mean("seed")
            ax.plot(time / mean.steps, mean, "x", color=INK, ms=3, label=label)
    legend(figure, figure.axes[0])
    return figure


def spoiled(result: xr.Dataset, time: float, epsilon: float, weight_decay: float) -> Figure:
    """Plot the drift where one hypothesis is missing.

    Args:
        result: The result of the study.
        time: The time of gradient descent.
        epsilon: ε where it is not 0.
        weight_decay: Weight decay where there is some.
    """
    names = {
        "before": "all hypotheses", "without bias": "without bias", "epsilon": f"ε = {epsilon:g}",
        "weight decay": f"weight decay {weight_decay:g}", "stored": "stored statistics",
    }  # fmt: skip
    figure = _panels(result, time, names)
    legend(figure, figure.axes[0])
    return figure


def _panels(result: xr.Dataset, time: float, names: Mapping[str, str]) -> Figure:
    figure, axes = panels(1, result.sizes["network"], sharey=True)
    eta = time / result.steps
    for ax, network in zip(axes[0], result.network.values, strict=True):
        for i, arm, label in zip(count(), names, names.values(), strict=False):
            mean, half = interval(result.drift.sel(network=network, arm=arm, drop=True))
            ax.plot(eta, mean, ms=4, label=label, **look(i))
            ax.fill_between(eta, mean - half, mean + half, color=look(i)["color"], alpha=0.2, lw=0)
        start = result.drift.sel(network=network, arm="before").mean("seed").isel(steps=0)
        ax.plot(eta, 0.5 * float(start) * eta / float(eta[0]), ":", color=ASH, label="proportional to η")
        ax.set(xscale="log", yscale="log", xlabel="step size η", title=network)
        ax.set_xticks(eta, [f"{time:g}/{n}" for n in result.steps.values], fontsize=8)
        ax.tick_params("x", which="minor", bottom=False, labelbottom=False)
    axes[0, 0].set_ylabel("mean relative change of ‖w_j‖")
    return figure
