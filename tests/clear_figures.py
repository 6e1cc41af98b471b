"""Whether a figure explains itself: its caption, its labels, and looks that differ in more than color."""

import re

import numpy as np
from matplotlib import colormaps
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from relulab.lab.show import figure as palette

HUES = {name: to_rgb(getattr(palette, name)) for name in ("RED", "GOLD", "TEAL", "SKY", "BLUE", "PURPLE")}
VIRIDIS = colormaps["viridis"](np.linspace(0, 1, 256))[:, :3]
# What a caption says about what is drawn, by words for it.
LINES = r"\blines?\b|\bsolid\b|\bdashed\b|\bdotted\b"
MARKS = r"\b(?:dot|circle|square|triangle|diamond|cross|point|symbol|marker|neuron)(?:e?s)?\b"
AREAS, BARS = r"\b(?:band|area|range|shaded|histogram)s?\b", r"\b(?:bar|histogram)s?\b"
AXES = r"\b(?:versus|against|over|by|axis|plane|during|as a function of)\b"
COLORS = r"\bcolors?\b|\bblue\b|\bgreen\b|\bgold\b|\borange-red\b|\bgray\b|\bdark\b|" + f"{LINES}|{MARKS}"


def drawn_kinds(figure: Figure) -> dict[str, bool]:
    """Which kinds of artists a figure has: lines, markers, areas, bars and several colors."""
    lines = [line for ax in figure.axes for line in ax.lines if ax.get_visible()]
    collections = [one for ax in figure.axes for one in ax.collections]
    colors = {tuple(to_rgb(line.get_color())) for line in lines if not gray(line.get_color())}
    return {
        LINES: any(line.get_linestyle() != "None" for line in lines),
        MARKS: any(line.get_marker() not in ("None", "", None) for line in lines)
        or any(isinstance(one, PathCollection) for one in collections),
        AREAS: any(isinstance(one, PolyCollection) for one in collections),
        BARS: any(ax.patches for ax in figure.axes),
        COLORS: len(colors) > 1,
    }


def gray(color) -> bool:
    return max(to_rgb(color)) - min(to_rgb(color)) < 0.02


def caption_problems(figure: Figure, caption: str) -> list[str]:
    kinds = drawn_kinds(figure) | {AXES: True}
    return [f"the caption says nothing like {words}" for words, drawn in kinds.items()
            if drawn and not re.search(words, caption, re.IGNORECASE)]  # fmt: skip


def look_problems(figure: Figure) -> list[str]:
    """Lines of other colors than those of the palette, and lines of one legend that differ in color only."""
    problems = []
    for ax in figure.axes:
        for line in ax.lines:
            rgb = np.array(to_rgb(line.get_color()))
            known = [*HUES.values(), *VIRIDIS]
            if not gray(rgb) and min(np.abs(rgb - np.array(one)).max() for one in known) > 0.01:
                problems.append(f"the color {line.get_color()} is not in the palette")
        named = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
        seen = [(line._dash_pattern[1] and tuple(line._dash_pattern[1]), line.get_linestyle() == "None",
                 line.get_marker()) for line in named]  # fmt: skip
        problems += [f"{line.get_label()!r} looks like another line but for its color"
                     for line, way in zip(named, seen, strict=True) if seen.count(way) > 1]  # fmt: skip
    return problems


def label_problems(figure: Figure) -> list[str]:
    """Axes without a label in words, in their own panel or in another one of their row or column."""
    shown = [ax for ax in figure.axes if ax.get_visible() and ax.axison and ax.get_subplotspec()]
    problems = []
    for ax in shown:
        spec = ax.get_subplotspec()
        column = [other for other in shown if other.get_subplotspec().colspan == spec.colspan]
        row = [other for other in shown if other.get_subplotspec().rowspan == spec.rowspan]
        below, beside = " ".join(o.get_xlabel() for o in column), " ".join(o.get_ylabel() for o in (*row, *column))
        title = f"{ax.get_title()} {figure.get_suptitle()}"
        if not re.search(r"[A-Za-z]{3}", f"{below} {figure.get_suptitle()}"):
            problems.append(f"the panel {ax.get_title()!r} has no horizontal label in words, but {below!r}")
        if not re.search(r"[A-Za-z]{3}", f"{beside} {title}"):
            problems.append(f"the panel {ax.get_title()!r} has no vertical label in words, but {beside!r}")
    return problems


def cut_off(figure: Figure) -> list[str]:
    """The sides on which something of a figure is outside of it."""
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    outside = {"left": -box.x0, "bottom": -box.y0, "right": box.x1 - width, "top": box.y1 - height}
    return [f"{excess:.2f} inches are cut off on the {side}" for side, excess in outside.items() if excess > 0.02]


def figure_problems(figure: Figure) -> list[str]:
    """What is unclear about a figure without its caption."""
    return [*look_problems(figure), *label_problems(figure), *cut_off(figure)]


def problems(figure: Figure, caption: str) -> list[str]:
    """What is unclear about a figure with its caption."""
    return [*caption_problems(figure, caption), *figure_problems(figure)]
