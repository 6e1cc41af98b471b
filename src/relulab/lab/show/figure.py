"""Figures in one style, without global state, so that several threads can draw at once."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")

# The palette. Colors that the color-blind can tell apart (Okabe and Ito), then grays from dark to light.
RED = "#d55e00"
GOLD = "#e69f00"
TEAL = "#009e73"
SKY = "#56b4e9"
BLUE = "#0072b2"
PURPLE = "#cc79a7"
INK = "#222222"
COAL = "#333333"
SLATE = "#444444"
GRAY = "#555555"
ASH = "#888888"
SILVER = "#999999"
CLOUD = "#bbbbbb"
MIST = "#dddddd"

STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": MIST,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "svg.hashsalt": "relulab",
}
WIDTHS = {1: RED, 2: GOLD, 5: TEAL, 10: BLUE}  # of students, as multiples of the teacher's width


def house_style():
    """A context with the style of all figures: ``with house_style(): …``."""
    return rc_context(STYLE)


def panels(rows: int, columns: int, *, width: float = 2.3, height: float = 2.2, **options) -> tuple[Figure, np.ndarray]:
    """Create a figure with a grid of axes, a two-dimensional array.

    Args:
        rows: Number of rows.
        columns: Number of columns.
        width: Width of a panel in inches.
        height: Height of a panel in inches.
        options: Options of ``Figure.subplots``, such as sharex and sharey.
    """
    figure = Figure(figsize=(0.7 + width * columns, 0.6 + height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def legend(figure: Figure, ax: Axes, columns: int = 8) -> None:
    """Draw one legend for all panels, below them.

    Args:
        figure: The figure.
        ax: A panel that has all labels.
        columns: Largest number of columns.
    """
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, min(len(labels), columns)), frameon=False)


def log_ticks(ax: Axes, ticks: Sequence[int]) -> None:
    """Make the x axis logarithmic, with labels at the given ticks only.

    Args:
        ax: The panel.
        ticks: The ticks; their labels are the same numbers.
    """
    ax.set(xscale="log", xticks=ticks, xticklabels=ticks)
    ax.tick_params("x", which="minor", bottom=False, labelbottom=False)


def drawn(figure: Figure, ending: str) -> bytes:
    """The contents of a figure's file, without dates, so that the same result gives the same file.

    Args:
        figure: The figure.
        ending: One of ``FORMATS``.
    """
    stamp, content = {"svg": "Date", "pdf": "CreationDate"}.get(ending), BytesIO()
    with house_style():
        figure.savefig(content, format=ending, dpi=150, metadata={stamp: None} if stamp else None)
    return content.getvalue()
