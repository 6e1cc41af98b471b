"""Figures of students with the same residue, and of one with a small advantage, over time."""

from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.figure import BLUE, GRAY, look, panels


def ratios(result: xr.Dataset, time: float, span: float) -> Figure:
    """Plot norms and angles of students with the same residue, and the growth of one with an advantage.

    Args:
        result: The result of the study.
        time: Duration of the simulation with the same residue.
        span: Duration of the simulation with an advantage, in units of 1/ϵ.
    """
    figure, axes = panels(1, 3, width=2.8, height=2.5)
    first_seed = result.isel(seed=0)
    relative = (first_seed.log_norm - first_seed.log_norm.mean("student")).isel(start=0)
    moment = result.moment.values
    for k in relative.student.values:
        axes[0, 0].plot(moment * time, relative.sel(student=k), lw=1, color=BLUE)
    axes[0, 0].set(xlabel="time", ylabel="ln of the norm, minus its mean", title="Same residue for all, seed 0")
    for i, start in enumerate(result.start.values):
        widest = result.angle.sel(start=start).max("student").median("seed")
        axes[0, 1].plot(moment * time, widest, label=f"initial norm {start:g}", **_style(i))
    axes[0, 1].set(
        xlabel="time", ylabel="largest angle with teacher", yscale="log", title="Same residue for all, median"
    )
    axes[0, 1].legend(fontsize=7)
    for i, extra in enumerate(result.extra.values):
        lead = result.lead.sel(extra=extra)
        lead = lead - lead.isel(moment=0)
        axes[0, 2].plot(moment * span, lead.median("seed"), lw=1, label=f"ϵ = {extra:g}", **_style(i))
    grown = float((result.lead - result.lead.isel(moment=0)).median("seed").max())
    axes[0, 2].plot([0, grown], [0, grown], "-", color=GRAY, lw=0.8, label="slope 1")
    axes[0, 2].set(xlabel="ϵ × time", ylabel="ln of the lead of student 1", title="Extra ϵ w* for student 1, median")
    axes[0, 2].legend(fontsize=7)
    return figure


def _style(i: int) -> dict[str, Any]:
    return look(i) | {"ms": 4, "markevery": (4 * i, 32)}
