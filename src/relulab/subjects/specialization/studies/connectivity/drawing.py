"""The figure of losses between students."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import BLUE, GRAY, RED, legend, panels
from relulab.subjects.specialization.studies.connectivity.claims import LOW

FLOOR = 1e-9  # smaller shares are drawn here


def drawn_losses(result: xr.Dataset) -> Figure:
    """Plot the loss along paths and straight lines, one panel per case.

    Args:
        result: The result of the study.
    """
    cases = np.lexsort((result.student.values, result.teacher.values))
    figure, axes = panels(1, 1 + len(cases), width=1.9, height=2.2, sharey=True)
    _panel(axes[0, 0], result.exact_path_curve, result.exact_line_curve)
    axes[0, 0].set(title="exact: 3 nodes for 2", ylabel="loss, as a share\nof that of a constant output")
    for ax, i in zip(axes[0, 1:], cases, strict=True):
        one = result.isel(case=i)
        _panel(ax, one.path_curve, one.line_curve)
        ax.set_title(f"trained: {int(one.student)} nodes for {int(one.teacher)}")
    legend(figure, axes[0, 0])
    return figure


def _panel(ax: Axes, path: xr.DataArray, line: xr.DataArray) -> None:
    for name, curve, color, style in (("straight line", line, RED, "--"), ("path", path, BLUE, "-")):
        values = np.maximum(curve.transpose("seed", "position").values, FLOOR)
        ax.plot(curve.position, values.T, color=color, ls=style, lw=0.6, alpha=0.35)
        ax.plot(curve.position, np.median(values, 0), color=color, ls=style, lw=2, label=name)
    ax.axhline(LOW, color=GRAY, ls=":", lw=1, label="1%")
    ax.set(yscale="log", ylim=(FLOOR / 2, 5), xticks=[0, 1], xticklabels=["A", "B"])
    ax.set_xlabel("position on the way")
