"""The figure of the limits of the bias: cosines against the start and against two distances from separability."""

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import BLUE, GOLD, GRAY, RED, TEAL, legend, panels
from relulab.subjects.bias.studies.separability_limits.claims import sweep_of

LOOKS = {"shift": (BLUE, "o", "all points shifted"), "stray": (GOLD, "s", "one point turned")}


def limits(result: xr.Dataset) -> Figure:
    """Plot outcomes against the size of the start, the share of broken pairs, and the largest wrong cosine.

    Args:
        result: The result of the study.
    """
    figure, axes = panels(1, 3, width=2.7, height=2.6, sharey=True)
    _start(axes[0, 0], sweep_of(result, "start").sel(when="end"))
    names = {"broken": "share of broken pairs", "wrong": "largest cosine with the wrong sign"}
    for ax, (name, label) in zip(axes[0, 1:], names.items(), strict=True):
        for sweep, (color, marker, text) in LOOKS.items():
            part = sweep_of(result, sweep).sel(when="end")
            x, y = (part[key].transpose("level", "seed").values.ravel() for key in (name, "least"))
            ax.plot(x, y, marker, color=color, ms=3.5, alpha=0.5, mec="none", label=text)
        ax.axhline(1, color=GRAY, lw=0.8)
        ax.set(xlabel=label, title="from the smallest start")
    axes[0, 1].set_xscale("symlog", linthresh=1e-3)
    axes[0, 1].set_xlim(0, None)
    axes[0, 1].set_ylabel("least cosine of a live neuron")
    legend(figure, axes[0, 0], axes[0, 1])
    return figure


def _start(ax: Axes, start: xr.Dataset) -> None:
    for name, color, marker, text in (
        ("share", TEAL, "o", "share with cosine ≥ 0.99"),
        ("least", RED, "^", "least cosine"),
    ):
        values = start[name].transpose("level", "seed")
        ax.plot(start.level, values, marker, color=color, ms=3.5, alpha=0.4, mec="none")
        ax.plot(start.level, values.mean("seed"), marker + "-", color=color, ms=3, lw=1.2, label=text)
    ax.axhline(1, color=GRAY, lw=0.8)
    ax.set(xscale="log", xlabel="size of the start", ylabel="live neurons", title="orthogonally separable data")
