"""Fan-out against correlation, and what is lost when students are cut down."""

from collections.abc import Sequence

import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.figure import BLUE, RED, legend, log_ticks, panels


def fan_outs(last: xr.Dataset, polarity: Sequence[float], widths: Sequence[int]) -> Figure:
    """A point a student node: its fan-out over its best correlation. A color is a seed.

    Args:
        last: the result after training.
        polarity: a row each.
        widths: a column each.
    """
    figure, axes = panels(len(polarity), len(widths), width=2.2, height=1.6, sharex=True, sharey=True)
    for row, p in zip(axes, polarity, strict=True):
        for ax, over in zip(row, widths, strict=True):
            here = last.sel(polarity=p, over=over)
            for seed in here.seed:
                one = here.sel(seed=seed)
                ax.scatter(one.specialized, one.fan_out, s=4, alpha=0.6, lw=0, rasterized=True)
            ax.set_title(f"{over}×, p = {p:g}, loss = {float(here.loss.mean()):.1e}", fontsize=8)
        row[0].set_ylabel("fan-out ‖v_k‖")
    for ax in axes[-1]:
        ax.set_xlabel("best correlation with a teacher")
    return figure


def pruning(here: xr.Dataset, polarity: Sequence[float], kept: list[int]) -> Figure:
    """The share of the variance lost when students are cut down, by what they add and by chance.

    Args:
        here: the result of students of one width, the coordinate "over".
        polarity: a panel each.
        kept: numbers of nodes that they were cut down to.
    """
    figure, axes = panels(1, len(polarity), sharey=True)
    for ax, p in zip(axes[0], polarity, strict=True):
        for name, label, color in (
            ("lost", "by what they add", BLUE),
            ("lost_by_chance", "by chance", RED),
        ):
            lost = here[name].sel(polarity=p)
            for seed in lost.seed:
                ax.plot(kept, lost.sel(seed=seed), color=color, alpha=0.3, lw=0.7)
            ax.plot(kept, lost.median("seed"), ".-", color=color, label=label)
        ax.set(title=f"p = {p:g}", xlabel="nodes kept", yscale="log")
        log_ticks(ax, kept)
    axes[0, 0].set_ylabel("share of the variance lost")
    figure.suptitle(f"{int(here.over)}× students cut down, top weights refit; median over seeds", fontsize=9)
    legend(figure, axes[0, 0])
    return figure
