"""Figures of angle distributions and of points in the plane."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.figure import ASH, BLUE, INK, RED, look, panels

FLOOR = 1e-12  # smaller risks are drawn at this value


def distributions(result: xr.Dataset) -> Figure:
    """Left: p(θ) of the three tasks, exact and counted; right: the mean risk of their students."""
    figure, axes = panels(1, 2, width=3.0, height=2.6)
    theta = np.degrees(result.theta)
    for i, task in enumerate(result.task.values):
        style = look(i)
        r = result.sel(task=task)
        axes[0, 0].plot(theta, r.exact.isel(seed=0), ls=style["ls"], color=style["color"], label=f"task {task}")
        axes[0, 0].plot(
            theta[::5], r.share.mean("seed")[::5], ls="none", marker=style["marker"], color=style["color"], ms=3.5
        )
        axes[0, 1].plot(
            [i] * r.sizes["seed"], r.risk.clip(FLOOR), ls="none", marker=style["marker"], color=style["color"], ms=4
        )
    axes[0, 0].set(
        xlabel="angle θ in degrees", ylabel="share at this angle or more, p(θ)", xlim=(0, 90), ylim=(0, 1.02)
    )
    axes[0, 0].legend()
    names = [str(task) for task in result.task.values]
    axes[0, 1].set(
        yscale="log", xlabel="task of the students", ylabel="mean transfer risk", xlim=(-0.5, len(names) - 0.5)
    )
    axes[0, 1].set_xticks(range(len(names)), names)
    return figure


def planes(result: xr.Dataset) -> Figure:
    """One panel per distribution: points of both classes in the plane, the teacher and its decision boundary."""
    figure, axes = panels(1, result.sizes["law"], width=2.3, height=2.4)
    for ax, law in zip(axes[0], result.law.values, strict=True):
        x, y = result.plane.sel(law=law).isel(seed=0).transpose("axis", "point").values
        for positive, color, marker in ((x >= 0, BLUE, "o"), (x < 0, RED, "^")):
            # The teacher points up, as in print: the first axis is drawn vertically.
            ax.plot(y[positive], x[positive], marker, color=color, ms=2, alpha=0.6)
        ax.axhline(0, color=ASH, lw=0.8)
        ax.annotate("", (0, 2.4), (0, 0), arrowprops={"arrowstyle": "->", "lw": 1.2, "color": INK})
        ax.text(0.12, 2.35, "w*", color=INK, va="center")
        ax.set(
            title=str(law),
            xlabel="component across the teacher",
            xlim=(-3, 3),
            ylim=(-3, 3),
            xticks=[],
            yticks=[],
            aspect="equal",
        )
    axes[0, 0].set_ylabel("component along the teacher")
    return figure
