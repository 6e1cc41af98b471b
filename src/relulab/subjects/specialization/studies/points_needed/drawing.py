"""Figures of the numbers of points versus K, d and ε."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.lab.show.figure import BLUE, GRAY, RED, headline, legend, panels
from relulab.subjects.specialization.studies.points_needed.claims import POWERS

LOOKS = {
    "SS.T3": ({"color": RED, "ls": "-", "marker": "s"}, "--", "theorem 3"),
    "SS.T4": ({"color": BLUE, "ls": "-.", "marker": "^"}, ":", "theorem 4"),
}
LABELS = {"K": "number K of nodes", "d": "number d of inputs", "epsilon": "alignment error ε"}


def asked(result: xr.Dataset) -> Figure:
    """Draw the numbers of points that the theorems ask for.

    Args:
        result: The result of the study.
    """
    figure, axes = panels(1, 3, width=2.9, height=2.9)
    for ax, letter in zip(axes[0], LABELS, strict=True):
        for theorem, (look, law, name) in LOOKS.items():
            N = result[f"asked_{letter}"].sel(theorem=theorem)
            _line(ax, letter, N, letter, look, name)
            _law(ax, letter, N, letter, POWERS[theorem][letter], law, f"printed power, {name}")
        _finish(ax, letter, "points asked for", result[letter].values)
    legend(figure, axes[0, 0], columns=2)
    headline(figure, f"Small symbols: {result.sizes['seed']} seeds; lines: medians")
    return figure


def needed(error: xr.DataArray, epsilon: float) -> xr.DataArray:
    """The smallest N from which on no student at zero gradient has an alignment error above ε; NaN if there is none.

    Students that did not reach zero gradient (NaN) do not count, but there must be one that did from this N on.

    Args:
        error: Alignment errors along "N" and others, N in ascending order.
        epsilon: The largest alignment error ε allowed.
    """
    last = error.N.where(error > epsilon).max("N").fillna(0)  # the largest N that is not enough
    return error.N.where((last < error.N) & error.notnull()).min("N")


def trained(result: xr.Dataset, fixed: float) -> Figure:
    """Draw the numbers of points that students at zero gradient need.

    Args:
        result: The result of the study.
        fixed: ε when K or d varies.
    """
    figure, axes = panels(1, 3, width=2.9, height=2.9)
    error_m, error_d = (result[name].sel(trained=True) for name in ("error_m", "error_inputs"))
    middle = error_d.isel(input=error_d.sizes["input"] // 2)
    by_epsilon = xr.concat([needed(middle, e) for e in result.epsilon.values], result.epsilon)
    cases = {
        "K": (needed(error_m.assign_coords(m=4 * error_m.m), fixed), "m"),
        "d": (needed(error_d, fixed), "input"),
        "epsilon": (by_epsilon, "epsilon"),
    }
    for ax, (letter, (N, dim)) in zip(axes[0], cases.items(), strict=True):
        _line(ax, letter, N, dim, LOOKS["SS.T3"][0], "trained students")
        _law(ax, letter, N, dim, POWERS["SS.T3"][letter], "--", "printed power, theorem 3")
        _finish(ax, letter, "points needed", N[dim].values)
    legend(figure, axes[0, 0], columns=2)
    headline(figure, f"Students at zero gradient; small symbols: {result.sizes['seed']} seeds; lines: medians")
    return figure


def _line(ax: Axes, letter: str, N: xr.DataArray, dim: str, look: dict, label: str) -> None:
    ax.plot(N[dim], N.transpose(dim, "seed"), **look | {"ls": "none"}, ms=3, alpha=0.35)
    ax.plot(N[dim], N.median("seed"), **look, ms=5, label=label)


def _law(ax: Axes, letter: str, N: xr.DataArray, dim: str, power: float, style: str, label: str) -> None:
    """A line of the printed power through the first median."""
    x = N[dim].values.astype(float)
    start = float(N.median("seed")[0])
    if np.isfinite(start):
        ax.plot(x, start * (x / x[0]) ** (-power if letter == "epsilon" else power), style, color=GRAY, label=label)


def _finish(ax: Axes, letter: str, what: str, ticks: np.ndarray) -> None:
    ax.set(xscale="log", yscale="log", xlabel=LABELS[letter], ylabel=what if letter == "K" else "")
    ax.xaxis.minorticks_off()
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
