"""Figures of students that start near teacher nodes."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.figure import ASH, headline, legend, look, panels

SETS = {"u": "u-set, near teacher nodes", "r": "r-set, at random"}


def courses(result: xr.Dataset) -> Figure:
    """Plot the norms of the fan-outs of both sets over the epochs, for the extreme values of p_W and p_V.

    Args:
        result: The result of the study, sorted by "over", "p_W" and "p_V".
    """
    choices = [(i, j) for i in (0, -1) for j in (0, -1)]
    figure, axes = panels(result.sizes["over"], len(choices), height=1.9, sharex=True, sharey="row")
    for row, over in zip(axes, result.over.values, strict=True):
        for ax, (i, j) in zip(row, choices, strict=True):
            at = result.sel(over=over).isel(p_W=i, p_V=j)
            for k, (name, label) in enumerate(SETS.items()):
                mean, spread = at[name].mean("seed"), at[name].std("seed")
                ax.plot(result.epoch, mean, ms=3, label=label, **look(k))
                ax.fill_between(
                    result.epoch, mean - spread, mean + spread, color=look(k)["color"], alpha=0.2, lw=0
                )  # fmt: skip
            ax.set_xscale("symlog", linthresh=1)
            if over == result.over.values[0]:
                ax.set_title(f"p_W = {float(at.p_W):g}, p_V = {float(at.p_V):g}")
        row[0].set_ylabel(f"{over}×: norm of fan-outs")
        row[0].set_ylim(bottom=0)  # after all panels of the row, which share this axis
    for ax in axes[-1]:
        ax.set_xlabel("epoch")
    headline(figure, f"Means over nodes and {result.sizes['seed']} seeds, with one standard deviation over seeds")
    legend(figure, axes[0, 0])
    return figure


def separations(result: xr.Dataset, epochs: int) -> Figure:
    """Plot how well the two sets are separated at the end against p_W, one line per p_V.

    Args:
        result: The result of the study, sorted by "over", "p_W" and "p_V".
        epochs: Number of epochs.
    """
    figure, axes = panels(1, result.sizes["over"], width=2.6, sharey=True)
    share = result.larger.sel(epoch=epochs)
    mean, error = share.mean("seed"), share.std("seed", ddof=1) / np.sqrt(share.sizes["seed"])
    p_W = result.p_W.values
    for ax, over in zip(axes[0], result.over.values, strict=True):
        for k, p_V in enumerate(result.p_V.values):
            y, e = (a.sel(over=over, p_V=p_V).transpose("p_W") for a in (mean, error))
            ax.plot(p_W, y, ms=4, label=f"p_V = {p_V:g}", **look(k))
            ax.fill_between(p_W, y - 2 * e, y + 2 * e, color=look(k)["color"], alpha=0.2, lw=0)
        ax.axhline(0.5, color=ASH, lw=0.8, ls=":")
        if p_W.min() > 0:
            ax.set_xscale("log")
            ax.set_xticks(p_W, [f"{p:g}" for p in p_W])
            ax.minorticks_off()
        ax.set(title=f"{over}×", xlabel="p_W")
    axes[0, 0].set_ylabel("share of pairs")
    headline(figure, f"Separation of both sets after {epochs} epochs")
    legend(figure, axes[0, 0])
    return figure
