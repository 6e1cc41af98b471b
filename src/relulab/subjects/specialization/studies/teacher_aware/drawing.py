"""Figure of the losses with teacher-aware and teacher-agnostic training points."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.interval import interval
from relulab.lab.show.figure import BLUE, RED, headline, legend, log_ticks, panels

STYLES = {"aware": {"color": RED, "ls": "--", "marker": "s"}, "agnostic": {"color": BLUE, "ls": "-", "marker": "o"}}


def losses(result: xr.Dataset, widths: Sequence[int]) -> Figure:
    """Plot evaluation and training loss versus the number of points, one column per student width.

    Args:
        result: The result of the study.
        widths: Student widths, as multiples of the teacher width.
    """
    # A single panel must be wide enough for the title.
    figure, axes = panels(2, len(widths), width=max(2.3, 5 / len(widths)), sharex=True, sharey="row")
    ticks = apart(result.points.values.tolist())
    for row, name in zip(axes, ("evaluation", "train"), strict=True):
        mean, half = interval(xr.apply_ufunc(np.log10, result[name].sortby("points")))
        for ax, over in zip(row, widths, strict=True):
            for kind, style in STYLES.items():
                y, e = (a.sel(over=over, data=kind) for a in (mean, half))
                ax.plot(y.points, y, ms=4, label=f"teacher-{kind}", **style)
                ax.fill_between(y.points, y - e, y + e, color=style["color"], alpha=0.2, lw=0)
            log_ticks(ax, ticks)
        row[0].set_ylabel(f"log₁₀ {'training' if name == 'train' else name} loss")
    for over, top, bottom in zip(widths, *axes, strict=True):
        top.set_title(f"{over}×")
        bottom.set_xlabel("number of training points")
    headline(figure, f"Mean and 95% interval over {result.sizes['seed']} seeds")
    legend(figure, axes[0, 0])
    return figure


def apart(points: Sequence[int]) -> list[int]:
    """Select sizes whose labels do not overlap on a logarithmic axis.

    Args:
        points: Sizes, in any order.
    """
    kept: list[int] = []
    for size in sorted(points):
        if not kept or size / kept[-1] >= 2:
            kept.append(size)
    return kept
