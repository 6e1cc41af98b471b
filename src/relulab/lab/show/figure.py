"""Figures in one style, without global state, so that several threads can draw at once."""

from collections.abc import Sequence
from io import BytesIO
from textwrap import fill
from typing import Any, Literal

import numpy as np
from cycler import cycler
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relulab.core.errors import UserError
from relulab.core.ranges import above, at_least

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

# Color, line style and marker of series, so that they can be told apart without color.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "ls": "-", "marker": "o"},
    {"color": RED, "ls": "--", "marker": "s"},
    {"color": TEAL, "ls": "-.", "marker": "^"},
    {"color": GOLD, "ls": ":", "marker": "D"},
    {"color": PURPLE, "ls": (0, (5, 1, 1, 1, 1, 1)), "marker": "v"},
    {"color": SKY, "ls": (0, (8, 2)), "marker": "P"},
)

LETTER, HANDLE = 0.075, 0.55  # widths in inches of a letter of 9 points, and of a line of a legend without its text

STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=[BLUE, RED, TEAL, GOLD, PURPLE, SKY, INK, ASH]),
    "grid.color": MIST,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "svg.hashsalt": "relulab",
}
# Of students, by their width as a multiple of the teacher's width.
WIDTHS = {1: {"color": RED, "marker": "s"}, 2: {"color": GOLD, "marker": "D"}, 5: {"color": TEAL, "marker": "^"},
          10: {"color": BLUE, "marker": "o"}}  # fmt: skip


def look(i: int) -> dict[str, Any]:
    """Color, line style and marker of the i-th of several series, counted from 0.

    >>> look(0)["color"], look(1)["ls"]
    ('#0072b2', '--')
    """
    return dict(LOOKS[i % len(LOOKS)])


def width_look(over: int) -> dict[str, Any]:
    """Color and marker of students.

    Args:
        over: Their width, as a multiple of the teacher's width.

    >>> width_look(5)["marker"], width_look(3)["marker"]
    ('^', 'D')
    """
    return WIDTHS.get(over) or {name: look(over)[name] for name in ("color", "marker")}


def shades(n: int) -> np.ndarray:
    """Colors from dark to light whose order the color-blind see, too: viridis without its palest part.

    Args:
        n: The number of colors.

    >>> shades(3).shape
    (3, 4)
    """
    return colormaps["viridis"](np.linspace(0, 0.9, n))


def house_style():
    """A context with the style of all figures: ``with house_style(): …``."""
    return rc_context(STYLE)


def panels(
    rows: int,
    columns: int,
    *,
    width: float = 2.3,
    height: float = 2.2,
    sharex: bool | Literal["row", "col"] = False,
    sharey: bool | Literal["row", "col"] = False,
    height_ratios: Sequence[float] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Create a figure with a grid of axes, a two-dimensional array.

    Args:
        rows: Number of rows.
        columns: Number of columns.
        width: Width of a panel in inches.
        height: Height of a panel in inches.
        sharex: Whether all panels, or those of a row or column, have the same horizontal axis.
        sharey: The same for the vertical axis.
        height_ratios: Relative heights of the rows. By default, all rows have the same height.
    """
    at_least(1, rows=rows, columns=columns)
    above(0, width=width, height=height)
    if height_ratios is not None and (len(height_ratios) != rows or min(height_ratios) <= 0):
        raise UserError(
            f"panels: expected a positive number for each of {rows} rows, got height_ratios={height_ratios!r}: such as "
            f"{(1,) * rows}"
        )
    figure = Figure(figsize=(0.7 + width * columns, 0.6 + height * rows), layout="constrained")
    return figure, figure.subplots(
        rows, columns, squeeze=False, sharex=sharex, sharey=sharey, height_ratios=height_ratios
    )


def headline(figure: Figure, text: str) -> None:
    """Write a title above all panels, on as many lines as it needs.

    Args:
        figure: The figure.
        text: The title.
    """
    figure.suptitle(fill(text, int(figure.get_figwidth() / LETTER)), fontsize=9)


def legend(figure: Figure, *axes: Axes, columns: int = 8) -> None:
    """Draw one legend for all panels, below them, with as many columns as fit.

    Args:
        figure: The figure.
        axes: Panels that have all labels together.
        columns: Largest number of columns.
    """
    named = [ax.get_legend_handles_labels() for ax in axes]
    handles, labels = ([one for part in parts for one in part] for parts in zip(*named, strict=True))
    longest = HANDLE + LETTER * max(map(len, labels), default=0)
    columns = max(1, min(len(labels), columns, int(figure.get_figwidth() / longest)))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


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
    figure.set_layout_engine("none")  # other formats keep the layout, which takes half of the time
    return content.getvalue()
