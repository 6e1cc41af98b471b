"""Figures of nodes in the plane: their lines at some moments, an animation, and all students at the end."""

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from relulab.lab.show.animation import Animation
from relulab.lab.show.figure import BLUE, CLOUD, GOLD, GRAY, INK, PURPLE, RED, SKY, TEAL, headline, legend, panels

WINDOW = 0.6  # the printed figure shows |x₁|, |x₂| ≤ 0.6
V_K = "fan-out"
FAR, NEAR = RED, TEAL
# One pattern per student. Students on the same line alternate, and the teacher shows between them.
DASHES = ((3, 3.75), (5, 1.75), (1, 2.375), (3, 1.5, 0.75, 1.5), (1.5, 1.875), (4, 0.75, 0.75, 1.25))
COLORS = (RED, GOLD, TEAL, BLUE, PURPLE, SKY)


def boundary(w: Float[np.ndarray, "n 2"], b: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 2 2"]:
    """Return two points of the line wᵀx + b = 0 of every node, outside the window on both sides.

    Args:
        w: Weights, (n, 2).
        b: Biases, (n,).

    Returns:
        End points, (n, 2, 2). They lie on both sides of −b w/‖w‖², the point of the line nearest to the origin.
    """
    size = np.linalg.norm(w, axis=-1, keepdims=True)
    u = w / size
    foot, along = -u * (b[..., None] / size), np.stack([-u[..., 1], u[..., 0]], -1)
    reach = np.linalg.norm(foot, axis=-1, keepdims=True) + 2 * WINDOW
    return np.stack([foot - reach * along, foot + reach * along], -2)


def color(k: int) -> str:
    """Return the color of student k."""
    return COLORS[k % len(COLORS)]


def dashes(k: int) -> tuple[float, tuple[float, ...]]:
    """Return the line style of student k, shifted so that students on the same line do not cover each other."""
    pattern = DASHES[k % len(DASHES)]
    return k * sum(pattern) / 3, pattern


def _plane(ax: Axes, network: xr.Dataset, ticks: tuple[float, ...] = (-0.5, 0, 0.5)) -> list[Line2D]:
    """Draw the window with the teacher's lines, and return one empty line per student."""
    for j, line in enumerate(boundary(network.w_star.values, network.b_star.values)):
        ax.plot(*line.T, color=INK, lw=1.5, label="teacher node" if not j else None)
    ax.set(xlim=(-WINDOW, WINDOW), ylim=(-WINDOW, WINDOW), aspect="equal", xticks=ticks, yticks=ticks)
    return [ax.plot([], [], ls=dashes(k), color=color(k), zorder=3)[0] for k in range(network.sizes["student"])]


def _place(lines: list[Line2D], now: xr.Dataset) -> None:
    """Move the lines to the students; thickness and opacity show the fan-out relative to the largest."""
    largest = float(now.fan_out.max())
    for line, ends, v in zip(lines, boundary(now.w.values, now.b.values), now.fan_out.values, strict=True):
        strength = float(np.nan_to_num(v / largest))  # NaN after a training that diverged
        line.set(data=ends.T, linewidth=1.2 + 1.6 * strength, alpha=0.45 + 0.55 * strength)


def frames(network: xr.Dataset, epoch: int) -> Figure:
    """Plot some moments of one seed side by side, with ‖v_k‖ in the legends.

    Args:
        network: The result of one seed at the steps to show.
        epoch: Steps per epoch.
    """
    count = network.sizes["step"]
    # Legends have their own row of axes: next to axes of a fixed aspect, the constrained layout does not converge.
    figure, axes = panels(2, count, width=2.15, height=1.6, height_ratios=(2.2, 0.9))
    for ax, below, step in zip(*axes, network.step.values, strict=True):
        now = network.sel(step=step)
        placed = _plane(ax, network)
        _place(placed, now)
        handles = [
            Line2D([], [], color=line.get_color(), lw=line.get_linewidth(), alpha=line.get_alpha(), ls=dashes(k))
            for k, line in enumerate(placed)
        ]
        norms = [f"{v:.2f}" for v in now.fan_out.values]
        ax.set(title=f"{step:,} steps" if step % epoch else f"epoch {step // epoch}", xlabel="first input")
        below.axis("off")
        below.legend(handles, norms, loc="upper center", ncols=2, handlelength=2.9, columnspacing=1.2, title=V_K)
    axes[0, 0].set_ylabel("second input")
    headline(figure, "Boundaries of teacher nodes (solid) and students (dashed), one seed")
    return figure


def students(end: xr.Dataset, tolerance: float) -> Figure:
    """Plot the contribution ‖v_k‖‖w_k‖ versus the alignment error for all students of all seeds.

    Args:
        end: The result at the end of training.
        tolerance: Alignment error up to which a student counts as aligned.
    """
    error = end.error.min("node")
    size = end.fan_out * np.sqrt((end.w**2).sum("axis"))
    error, size = xr.broadcast(error, size)
    figure, axes = panels(1, 1, width=4.4, height=3.0)
    ax, near = axes[0, 0], error.values <= tolerance
    for chosen, shade, marker, kind in ((near, NEAR, "o", "aligned"), (~near, FAR, "^", "not aligned")):
        style = {"ls": "none", "marker": marker, "ms": 4, "alpha": 0.6, "mec": "none", "color": shade}
        label = f"{kind}: {chosen.sum():,} of {chosen.size:,} students"
        ax.plot(error.values[chosen], size.values[chosen], label=label, **style)
    ax.axvline(tolerance, color=GRAY, lw=0.8, ls=":")
    ax.set(xscale="log", yscale="log", xlabel="alignment error with the nearest teacher node")
    ax.set_ylabel("contribution of a student")
    ax.set_title(f"All students of {end.sizes['seed']} seeds at the end of training")
    legend(figure, ax)
    return figure


def lines(network: xr.Dataset) -> Animation:
    """Animate one seed: the lines, the fan-out of each student as a bar, and the loss.

    Args:
        network: The result of one seed.
    """
    figure = Figure(figsize=(4.8, 6.4), layout="constrained")
    axes = figure.subplot_mosaic([["plane", "plane"], ["bars", "loss"]], height_ratios=(3.1, 1))
    placed = _plane(axes["plane"], network)
    axes["plane"].set(xlabel="first input", ylabel="second input")
    steps, top = network.step.values, float(network.fan_out.max())
    n = network.sizes["student"]
    bars = axes["bars"].bar(range(1, n + 1), np.zeros(n), color=[color(k) for k in range(n)])
    axes["bars"].set(ylim=(0, 1.05 * top), xlabel="student k", ylabel=V_K, xticks=range(1, n + 1))
    axes["bars"].grid(axis="x", visible=False)
    axes["bars"].set_axisbelow(True)
    axes["loss"].plot(steps, network.loss, color=CLOUD, lw=1)
    (past,), (dot,) = axes["loss"].plot([], [], color=INK, lw=1.4), axes["loss"].plot([], [], "o", color=INK, ms=4)
    axes["loss"].set_xscale("symlog", linthresh=float(steps[1]), linscale=0.3)
    ticks = [0, *(10**k for k in range(1, 9) if steps[1] < 10**k <= steps[-1])]
    axes["loss"].set_xticks(ticks, ["0", *(f"$10^{len(str(t)) - 1}$" for t in ticks[1:])])
    axes["loss"].set(yscale="log", xlabel="SGD steps", ylabel="evaluation loss")
    axes["loss"].minorticks_off()
    title = axes["plane"].set_title("")

    def draw(i: int) -> None:
        now = network.isel(step=i)
        _place(placed, now)
        for bar, v in zip(bars, now.fan_out.values, strict=True):
            bar.set_height(float(v))
        past.set_data(steps[: i + 1], network.loss.values[: i + 1])
        dot.set_data(steps[i : i + 1], network.loss.values[i : i + 1])
        title.set_text(f"Teacher nodes (solid) and students (dashed) after {steps[i]:,} steps")

    first, end = network.isel(step=0), network.isel(step=-1)
    near = end.error.min("node").values
    description = (
        f"The lines of {n} students move toward the {network.sizes['node']} lines of the teacher from step 0 to step "
        f"{steps[-1]:,}, while the loss goes from {float(first.loss):.2g} to {float(end.loss):.2g}. At the end, "
        + ", ".join(f"student {k + 1} has alignment error {e:.2g} and fan-out {v:.2f}"
                    for k, (e, v) in enumerate(zip(near, end.fan_out.values, strict=True))) + "."
    )  # fmt: skip
    return Animation(figure, draw, len(steps), description)
