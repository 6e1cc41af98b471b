"""Histograms of BatchNorm biases, one panel per layer, in two colors for the two signs."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from relulab.lab.show.figure import BLUE, GOLD, INK, panels

BINS, COLUMNS, ROWS = 24, 4, 8


def evenly(count: int, most: int) -> list[int]:
    """Return at most ``most`` of the numbers 0, …, count − 1, evenly spaced, with the first and the last.

    Args:
        count: How many there are.
        most: How many to return.

    >>> evenly(3, 5), evenly(10, 4)
    ([0, 1, 2], [0, 3, 6, 9])
    """
    return [round(i) for i in np.linspace(0, count - 1, min(count, most))]


def shortened(name: str, most: int = 24) -> str:
    """Return a name of at most ``most`` characters; its middle is left out if it is longer.

    Args:
        name: The name.
        most: Number of characters.

    >>> shortened("features.denseblock1.norm1", 12)
    'featur…norm1'
    """
    half = most // 2
    return name if len(name) <= most else f"{name[:half]}…{name[len(name) - (most - half - 1) :]}"


def bias_picture(networks: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """Draw histograms of the biases of some layers of networks, evenly spaced in depth, the lowest first.

    Args:
        networks: Biases by name of the network and of the layer. Every network begins a new row.
    """
    rows = max(1, ROWS // len(networks))
    shown: list[tuple[str, str, np.ndarray] | None] = []
    for network, layers in networks.items():
        names = list(layers)
        shown += [(network, names[i], layers[names[i]]) for i in evenly(len(names), rows * COLUMNS)]
        shown += [None] * (-len(shown) % COLUMNS)
    figure, axes = panels(len(shown) // COLUMNS, COLUMNS, width=1.9, height=1.35)
    for i, (ax, one) in enumerate(zip(axes.flat, shown, strict=True)):
        if one is None:
            ax.set_visible(False)
            continue
        network, name, bias = one
        _histogram(ax, bias, name)
        ax.set_ylabel(f"{shortened(network, 18)}\nunits" if not i % COLUMNS else "", fontsize=7)
        if i + COLUMNS >= len(shown) or shown[i + COLUMNS] is None:
            ax.set_xlabel("bias c_1", fontsize=7)
    return figure


def _histogram(ax: Axes, bias: np.ndarray, name: str) -> None:
    """Draw the biases of one layer: negative ones blue and hatched, the others gold."""
    largest = float(np.abs(bias).max()) or 1.0
    edges = [largest * (2 * i / BINS - 1) for i in range(BINS + 1)]  # zero is exactly one of them
    ax.hist(bias[bias < 0], edges, color=BLUE, hatch="////", edgecolor="white", lw=0.3)
    ax.hist(bias[bias >= 0], edges, color=GOLD)
    ax.axvline(0, color=INK, lw=0.7)
    ax.set_title(f"{shortened(name)}\n{float((bias < 0).mean()):.0%} negative", fontsize=7)
    ax.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    ax.xaxis.set_major_locator(MaxNLocator(3, symmetric=True))
    ax.tick_params(labelsize=7)
