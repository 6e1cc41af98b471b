"""Figures of fan-out versus correlation, and of the variance lost by pruning."""

from collections.abc import Sequence

import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.figure import headline, legend, log_ticks, look, panels


def fan_outs(last: xr.Dataset, polarity: Sequence[float], widths: Sequence[int]) -> Figure:
    """Plot fan-out versus best correlation, one point per student node and one color per seed.

    Args:
        last: The result after training.
        polarity: Polarities, one row of panels each.
        widths: Student widths, one column of panels each.
    """
    figure, axes = panels(len(polarity), len(widths), width=2.2, height=1.6, sharex=True, sharey=True)
    for row, p in zip(axes, polarity, strict=True):
        for ax, over in zip(row, widths, strict=True):
            networks = last.sel(polarity=p, over=over)
            for seed in networks.seed:
                network = networks.sel(seed=seed)
                ax.scatter(network.specialized, network.fan_out, s=4, alpha=0.6, lw=0, rasterized=True)
            ax.set_title(f"{over}×, polarity {p:g}, loss {float(networks.loss.mean()):.1e}", fontsize=8)
        row[0].set_ylabel("fan-out")
    for ax in axes[-1]:
        ax.set_xlabel("best correlation")
    return figure


def pruning(students: xr.Dataset, polarity: Sequence[float], kept: list[int]) -> Figure:
    """Plot the share of the variance lost by pruning, by contribution and at random.

    Args:
        students: The result of students of one width, which is the coordinate "over".
        polarity: Polarities, one panel each.
        kept: Numbers of nodes to which the students were pruned.
    """
    figure, axes = panels(1, len(polarity), sharey=True)
    for ax, p in zip(axes[0], polarity, strict=True):
        for i, (name, label) in enumerate((("lost", "by contribution"), ("lost_by_chance", "at random"))):
            lost = students[name].sel(polarity=p)
            for seed in lost.seed:
                ax.plot(kept, lost.sel(seed=seed), color=look(i)["color"], alpha=0.3, lw=0.7)
            ax.plot(kept, lost.median("seed"), ms=4, label=f"nodes kept {label}", **look(i))
        ax.set(title=f"polarity {p:g}", xlabel="nodes kept", yscale="log")
        log_ticks(ax, kept)
    axes[0, 0].set_ylabel("share of variance lost")
    headline(figure, f"{int(students.over)}× students, median over seeds")
    legend(figure, axes[0, 0])
    return figure
