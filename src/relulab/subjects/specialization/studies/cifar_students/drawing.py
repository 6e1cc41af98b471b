"""The figures of the students on CIFAR-10."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import ASH, COAL, GRAY, headline, legend, look, panels, width_look
from relulab.subjects.specialization.studies.cifar_students.measures import Arm


def drawn_courses(result: xr.Dataset, arms: Sequence[Arm]) -> Figure:
    """Draw ρ_mean of every layer, and the accuracy, over epochs.

    Args:
        result: The result of the study.
        arms: The kinds of students.
    """
    layers = result.layer.values.tolist()
    figure, axes = panels(1, len(layers) + 1, width=2.1)
    for arm in arms:
        for layer, ax in zip(layers, axes[0], strict=False):
            _line(ax, result.rho.sel(arm=arm.name, layer=layer), arm)
        _line(axes[0, -1], result.accuracy.sel(arm=arm.name), arm)
    for layer, ax in zip(layers, axes[0], strict=False):
        ax.set(title=f"layer {layer}", xlabel="epoch", ylim=(0, 1.02))
    for ax in axes[0]:
        ax.xaxis.get_major_locator().set_params(integer=True)
    axes[0, 0].set_ylabel("mean best correlation ρ_mean")
    top = axes[0, -1]
    top.axhline(float(result.teacher.mean()), color=COAL, ls=":", label="teacher")
    top.axhline(float(result.pruned.mean()), color=GRAY, ls="-.", label="pruned teacher")
    top.set(title="held-out pictures", xlabel="epoch", ylabel="accuracy")
    headline(figure, f"{result.sizes['seed']} seeds")
    legend(figure, top)
    return figure


def drawn_order(result: xr.Dataset, arms: Sequence[Arm]) -> Figure:
    """Draw, for every layer, whether strong channels are learned first.

    Args:
        result: The result of the study.
        arms: The kinds of students.
    """
    figure, axes = panels(1, len(arms), width=1.9, sharey=True)
    for arm, ax in zip(arms, axes[0], strict=True):
        of_arm = result.sel(arm=arm.name)
        _bars(ax, of_arm.order, {**look(0), "ls": ""}, "strengths", -0.08)
        _bars(ax, of_arm.order_random, {"color": ASH, "marker": "x", "ls": ""}, "strengths in random order", 0.08)
        ax.axhline(0, color=GRAY, lw=0.8)
        ax.set(title=arm.name, xlabel="layer", xticks=result.layer.values, ylim=(-1.05, 1.05))
    axes[0, 0].set_ylabel("rank correlation")
    legend(figure, axes[0, 0])
    return figure


def _line(ax: Axes, values: xr.DataArray, arm: Arm) -> None:
    style = width_look(arm.over)
    mean, error = _mean(values.transpose("seed", "epoch").values)
    ax.plot(values.epoch, mean, ms=3, label=arm.name, ls="-" if arm.norm else "--", **style)
    ax.fill_between(values.epoch, mean - error, mean + error, color=style["color"], alpha=0.15, lw=0)


def _bars(ax: Axes, values: xr.DataArray, style: dict, label: str, shift: float) -> None:
    mean, error = _mean(values.transpose("seed", "layer").values)
    ax.errorbar(values.layer + shift, mean, error, label=label, ms=4, **style)


def _mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over seeds, and two standard errors."""
    error = values.std(0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1:])
    return values.mean(0), 2 * error
