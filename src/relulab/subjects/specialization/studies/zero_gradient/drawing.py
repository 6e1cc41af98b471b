"""Figures of the alignment at zero gradient, and of the effect of merging and pruning nodes."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from relulab.lab.show.figure import BLUE, GRAY, RED, TEAL, legend, look, panels

EXACT = 1e-7  # smaller alignment errors cannot come from the spacing of N points: the node is matched exactly


def alignments(result: xr.Dataset) -> Figure:
    """Plot the alignment error of the worst and the median node, and the share of exactly matched nodes.

    Args:
        result: The result of students of one width.
    """
    figure, axes = panels(1, 2, width=3.2, height=2.8)
    ax, epsilon = axes[0, 0], result.epsilon.dropna("points", how="all")
    for name, values, color, marker, style in (
        ("worst node", epsilon.max("node"), RED, "s", "-"),
        ("median node", epsilon.median("node"), TEAL, "^", "-."),
    ):
        for seed in values.seed:
            ax.plot(values.points, values.sel(seed=seed), marker, color=color, alpha=0.4, ms=3, mec="none")
        ax.plot(values.points, values.median("seed"), ls=style, marker=marker, ms=4, color=color, label=name)
    N = np.array([epsilon.points.min(), epsilon.points.max()], dtype=float)
    worst = float(epsilon.max("node").sel(points=N[0]).median())
    ax.plot(N, worst * N[0] / N, "--", color=GRAY, label="1/N (theorem 3 of SS)")
    ax.set(
        xscale="log", yscale="log", xlabel="number of training points N", ylabel="alignment error", ylim=(EXACT, None)
    )
    share = (epsilon < EXACT).mean("node")
    axes[0, 1].plot(share.points, share, ".", color=GRAY, alpha=0.4)
    axes[0, 1].plot(share.points, share.mean("seed"), color=GRAY)
    axes[0, 1].set(xscale="log", ylim=(-0.02, 1.02), xlabel="number of training points N")
    axes[0, 1].set_ylabel(f"share of nodes with error below {EXACT:g}")
    legend(figure, ax)
    return figure


def merging(result: xr.Dataset) -> Figure:
    """Plot the effect of merging nodes up to a tolerance, and the number of nodes left.

    Args:
        result: The result of students of one width.
    """
    figure, axes = panels(1, 2, width=3.2, height=2.6)
    change, left = (result[name].dropna("points", how="all") for name in ("change", "left"))
    for i, N in enumerate(change.points.values):
        axes[0, 0].plot(change.merged, change.sel(points=N).median("seed"), label=f"{N:,} points", ms=4, **look(i))
        axes[0, 1].plot(left.merged, left.sel(points=N).mean("seed"), ms=4, **look(i))
    axes[0, 0].plot(change.merged, change.merged, "-", color=GRAY, lw=0.8, label="change = tolerance")
    axes[0, 0].set(
        xscale="log", yscale="log", xlabel="tolerance of merging", ylabel="largest change of held-out outputs"
    )
    axes[0, 1].set(xscale="log", xlabel="tolerance of merging", ylabel="mean number of nodes left")
    legend(figure, axes[0, 0])
    return figure


def pruning(lost: xr.DataArray, m: int) -> Figure:
    """Plot the share of the variance that wide students lose by pruning.

    Args:
        lost: Shares along "kept" and "seed", with the students' width as the coordinate "over".
        m: The teacher's width.
    """
    figure, axes = panels(1, 1, width=3.6, height=2.6)
    ax = axes[0, 0]
    for seed in lost.seed:
        ax.plot(lost.kept, lost.sel(seed=seed), color=BLUE, alpha=0.4, lw=0.8)
    ax.plot(lost.kept, lost.median("seed"), color=BLUE, lw=2, label=f"{int(lost.over)}× students, median over seeds")
    ax.axvline(m, color=GRAY, ls="--", lw=1, label="width of the teacher")
    ax.set(yscale="log", xlabel="number of nodes kept", ylabel="share of held-out variance lost")
    legend(figure, ax)
    return figure
