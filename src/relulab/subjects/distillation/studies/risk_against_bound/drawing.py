"""Figures that compare the bounds with the measured risk."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.figure import ASH, BLUE, RED, SLATE, TEAL, legend, panels

FLOOR = 1e-8  # smaller risks are drawn at this value


def curves(result: xr.Dataset, bounds: xr.Dataset) -> Figure:
    """One panel per angle distribution: the mean risk of every block and the bounds, against n on logarithmic axes."""
    laws = result.law.values
    figure, axes = panels(1, len(laws), width=2.4, height=2.6, sharey=True)
    styles = {
        "theorem": ("-", "theorem 5.3"),
        "tight": ("--", "tight form"),
        "corollary": (":", "corollary 5.1 or 5.2"),
    }
    for ax, law in zip(axes[0], laws, strict=True):
        n = result.n
        for name, (style, label) in styles.items():
            ax.plot(n, bounds[name].sel(law=law).clip(FLOOR), style, color=SLATE, lw=1, label=label)
        risk = result.risk.sel(law=law).transpose("n", "seed").clip(FLOOR)
        ax.plot(n, risk, color=TEAL, lw=0.6, alpha=0.3)
        ax.plot(n, risk.mean("seed"), "o-", color=TEAL, ms=3, lw=1.6, label="measured risk")
        ax.set_title("with margin" if law == "margin" else f"degree {law}")
        ax.set(xscale="log", yscale="log", xlabel="number of points n", ylim=(FLOOR, 1.5))
    axes[0, 0].set_ylabel("expected transfer risk")
    legend(figure, axes[0, 0])
    return figure


def random_tasks(result: xr.Dataset) -> Figure:
    """The bound against the measured risk, one dot per random task."""
    figure, axes = panels(1, 1, width=3.4, height=3.0)
    ax = axes[0, 0]
    risk, bound = (result[k].values.ravel().clip(FLOOR) for k in ("task_risk", "task_bound"))
    margin = result.task_widest.values.ravel() < np.pi / 2
    for shown, color, marker, label in ((margin, RED, "^", "with margin"), (~margin, BLUE, "o", "without margin")):
        ax.plot(risk[shown], bound[shown], marker, color=color, ms=2.5, alpha=0.5, label=label)
    ax.plot([FLOOR, 1], [FLOOR, 1], color=ASH, lw=0.8)
    ax.set(
        xscale="log", yscale="log", xlabel="measured risk", ylabel="bound of theorem 5.3",
        title=f"{len(risk):,} random tasks", xlim=(FLOOR / 1.5, 1.5), ylim=(FLOOR / 1.5, 1.5),
    )  # fmt: skip
    ax.legend()
    return figure
