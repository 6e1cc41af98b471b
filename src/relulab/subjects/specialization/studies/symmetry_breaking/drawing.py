"""Students with one residue, and with a little more for one of them, over time."""

import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.figure import BLUE, GOLD, GRAY, RED, TEAL, panels

COLORS = (RED, GOLD, TEAL, BLUE, GRAY)


def ratios(result: xr.Dataset, time: float, span: float) -> Figure:
    """Norms and angles of students with one residue for all, and the growth of one that gets more.

    Args:
        result: of the study.
        time: how long equal students are followed.
        span: how long broken symmetry is followed, in units of 1/ϵ.
    """
    figure, axes = panels(1, 3, width=2.8, height=2.5)
    one = result.isel(seed=0)
    shares = (one.log_norm - one.log_norm.mean("student")).isel(start=0)
    moment = result.moment.values
    for k in shares.student.values:
        axes[0, 0].plot(moment * time, shares.sel(student=k), lw=1, color=BLUE)
    axes[0, 0].set(xlabel="t", ylabel="ln ‖w_k‖ less the mean", title="One residue for all; seed 0")
    for start, color in zip(result.start.values, COLORS, strict=False):
        widest = result.angle.sel(start=start).max("student").median("seed")
        axes[0, 1].plot(moment * time, widest, color=color, label=f"start {start:g}")
    axes[0, 1].set(xlabel="t", ylabel="largest angle with w*", yscale="log", title="One residue for all; median")
    axes[0, 1].legend(fontsize=7)
    for extra, color in zip(result.extra.values, COLORS, strict=False):
        lead = result.lead.sel(extra=extra)
        lead = lead - lead.isel(moment=0)
        axes[0, 2].plot(moment * span, lead.median("seed"), color=color, lw=1, label=f"ϵ = {extra:g}")
    grown = float((result.lead - result.lead.isel(moment=0)).median("seed").max())
    axes[0, 2].plot([0, grown], [0, grown], "--", color=GRAY, lw=1, label="e^(ϵt)")
    axes[0, 2].set(xlabel="ϵ t", ylabel="ln of growth over the others", title="ϵ w* more for one; median")
    axes[0, 2].legend(fontsize=7)
    return figure
