"""How nodes of the plane are drawn: their lines at some moments, moving, and what became of every student."""

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from relulab.lab.show.animation import Animation
from relulab.lab.show.figure import AMBER, BLUE, CLOUD, GRAY, INK, LEAF, PURPLE, RED, TEAL, legend, panels

WINDOW = 0.6  # the papers' picture shows |x₁|, |x₂| up to here
V_K = r"$\|v_k\|$"
FAR, NEAR = RED, TEAL
DASHES = (3, 3.75)
COLorS = (RED, AMBER, TEAL, BLUE, PURPLE, LEAF)


def boundary(w: Float[np.ndarray, "n 2"], b: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 2 2"]:
    """Two points far out on the line wᵀx + b = 0 of every node: about its foot −b w/‖w‖², along the line."""
    size = np.linalg.norm(w, axis=-1, keepdims=True)
    u = w / size
    foot, along = -u * (b[..., None] / size), np.stack([-u[..., 1], u[..., 0]], -1)
    reach = np.linalg.norm(foot, axis=-1, keepdims=True) + 2 * WINDOW
    return np.stack([foot - reach * along, foot + reach * along], -2)


def color(k: int) -> str:
    return COLorS[k % len(COLorS)]


def _plane(ax: Axes, one: xr.Dataset, ticks: tuple[float, ...] = (-0.5, 0, 0.5)) -> list[Line2D]:
    """The window with the teacher's lines; returns a line a student, to be placed."""
    for j, line in enumerate(boundary(one.w_star.values, one.b_star.values)):
        ax.plot(*line.T, color=INK, lw=1.5, label="teacher node" if not j else None)
    ax.set(xlim=(-WINDOW, WINDOW), ylim=(-WINDOW, WINDOW), aspect="equal", xticks=ticks, yticks=ticks)
    # Dashes of each begin a little later, so that students on one line show in turn and the teacher between them.
    return [
        ax.plot([], [], ls=(k * sum(DASHES) / 3, DASHES), color=color(k), zorder=3)[0]
        for k in range(one.sizes["student"])
    ]


def _place(lines: list[Line2D], now: xr.Dataset) -> None:
    """Puts students where they are now, as thick and dark as their fan-out is beside the largest."""
    largest = float(now.fan_out.max())
    for line, ends, v in zip(lines, boundary(now.w.values, now.b.values), now.fan_out.values, strict=True):
        strength = float(v) / largest
        line.set(data=ends.T, linewidth=1.2 + 1.6 * strength, alpha=0.45 + 0.55 * strength)


def frames(one: xr.Dataset, epoch: int) -> Figure:
    """Moments of one seed side by side; every legend has ‖v_k‖."""
    count = one.sizes["step"]
    # Legends have a row of their own: beside axes of a fixed shape the layout would not settle at once.
    figure, axes = panels(2, count, width=2.15, height=1.6, height_ratios=(2.2, 0.9))
    for ax, below, step in zip(*axes, one.step.values, strict=True):
        now = one.sel(step=step)
        placed = _plane(ax, one)
        _place(placed, now)
        named = [
            Line2D([], [], color=line.get_color(), lw=line.get_linewidth(), alpha=line.get_alpha(), ls=(0, DASHES))
            for line in placed
        ]
        norms = [f"{v:.2f}" for v in now.fan_out.values]
        ax.set(title=f"{step:,} steps" if step % epoch else f"epoch {step // epoch}", xlabel="$x_1$")
        below.axis("off")
        below.legend(named, norms, loc="upper center", ncols=2, handlelength=2.9, columnspacing=1.2, title=V_K)
    axes[0, 0].set_ylabel("$x_2$")
    figure.suptitle("Boundaries of the teacher's nodes (solid) and of the students (dashed), one seed", fontsize=9)
    return figure


def students(end: xr.Dataset, tolerance: float) -> Figure:
    """Every student of every seed at the end: contribution ‖v_k‖‖w_k‖ against its alignment error."""
    error = end.error.min("node")
    size = end.fan_out * np.sqrt((end.w**2).sum("axis"))
    error, size = xr.broadcast(error, size)
    figure, axes = panels(1, 1, width=4.4, height=3.0)
    ax, near = axes[0, 0], error.values <= tolerance
    for which, shade, label in ((near, NEAR, "aligned"), (~near, FAR, "not aligned")):
        name = f"{label}: {which.sum()} of {which.size} students"
        ax.plot(error.values[which], size.values[which], "o", ms=4, alpha=0.6, mec="none", color=shade, label=name)
    ax.axvline(tolerance, color=GRAY, lw=0.8, ls=":")
    ax.set(xscale="log", yscale="log", xlabel="alignment error with the nearest teacher node")
    ax.set_ylabel("contribution $\\|v_k\\|\\,\\|w_k\\|$")
    ax.set_title(f"All students of {end.sizes['seed']} seeds at the end of training")
    legend(figure, ax)
    return figure


def lines(one: xr.Dataset) -> Animation:
    """One seed over time: the lines, the fan-out of each student as a bar, and the loss."""
    figure = Figure(figsize=(4.8, 6.4), layout="constrained")
    axes = figure.subplot_mosaic([["plane", "plane"], ["bars", "loss"]], height_ratios=(3.1, 1))
    placed = _plane(axes["plane"], one)
    axes["plane"].set(xlabel="$x_1$", ylabel="$x_2$")
    steps, top = one.step.values, float(one.fan_out.max())
    n = one.sizes["student"]
    bars = axes["bars"].bar(range(1, n + 1), np.zeros(n), color=[color(k) for k in range(n)])
    axes["bars"].set(ylim=(0, 1.05 * top), xlabel="student k", ylabel=V_K, xticks=range(1, n + 1))
    axes["bars"].grid(axis="x", visible=False)
    axes["bars"].set_axisbelow(True)
    axes["loss"].plot(steps, one.loss, color=CLOUD, lw=1)
    (past,), (dot,) = axes["loss"].plot([], [], color=INK, lw=1.4), axes["loss"].plot([], [], "o", color=INK, ms=4)
    axes["loss"].set_xscale("symlog", linthresh=float(steps[1]), linscale=0.3)
    ticks = [0, *(10**k for k in range(1, 9) if steps[1] < 10**k <= steps[-1])]
    axes["loss"].set_xticks(ticks, ["0", *(f"$10^{len(str(t)) - 1}$" for t in ticks[1:])])
    axes["loss"].set(yscale="log", xlabel="SGD steps", ylabel="loss")
    axes["loss"].minorticks_off()
    title = axes["plane"].set_title("")

    def draw(i: int) -> None:
        now = one.isel(step=i)
        _place(placed, now)
        for bar, v in zip(bars, now.fan_out.values, strict=True):
            bar.set_height(float(v))
        past.set_data(steps[: i + 1], one.loss.values[: i + 1])
        dot.set_data(steps[i : i + 1], one.loss.values[i : i + 1])
        title.set_text(f"teacher nodes solid, students dashed; {steps[i]:,} steps")

    first, end = one.isel(step=0), one.isel(step=-1)
    near = end.error.min("node").values
    words = (
        f"Lines of {n} students turn and shift from step 0 to step {steps[-1]:,} toward the {one.sizes['node']} lines "
        f"of the teacher, while the loss falls from {float(first.loss):.2g} to {float(end.loss):.2g}. At the end "
        + ", ".join(f"student {k + 1} has alignment error {e:.2g} and fan-out {v:.2f}"
                    for k, (e, v) in enumerate(zip(near, end.fan_out.values, strict=True))) + "."
    )  # fmt: skip
    return Animation(figure, draw, len(steps), words)
