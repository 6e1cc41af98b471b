"""The path between two networks as text and as a picture."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from relulab.core.share import percent
from relulab.lab.show.figure import BLUE, GRAY, RED, house_style, legend, panels
from relulab.lab.show.parts import Fact, Grid, Line, Part
from relulab.lab.show.words import number
from relulab.subjects.specialization.tools.connection import Connection

LOW = 0.01  # a loss is low if it exceeds that of the networks by at most this share of the loss of a constant
MOVES = {
    "merge": "few nodes of A take over the work of all",
    "copy": "silent nodes get other input weights",
    "hand over": "copied nodes take over",
    "split": "all nodes of B take part again",
}


def stays_low(found: Connection, losses: Tensor) -> bool:
    """Whether losses exceed those of the two networks by at most 1% of the loss of the best constant output.

    Args:
        found: The path.
        losses: The losses along it, or along the straight line.
    """
    return float(losses.max()) <= max(found.ends) + LOW * found.constant


def parts(document: dict[str, Any]) -> Iterator[Part]:
    """Yield the answer: the losses, a conclusion, and the segments.

    Args:
        document: The document of ``relulab measure connect --json``.
    """
    ends, constant = document["ends"], document["constant"]
    yield Fact("loss", f"{document['loss']}, at {document['points']:,} points; targets: {document['targets']}")
    yield Fact("loss of A and of B", f"{number(ends[0])} and {number(ends[1])}")
    yield Fact("largest loss on the path", number(document["path"]))
    yield Fact("largest loss on the straight line", number(document["line"]))
    yield Fact("loss of the best constant output", number(constant))
    yield Fact("nodes that do the work on the path", f"{_chain(document['kept'])} of {_chain(document['nodes'])}")
    yield Line(_conclusion(document), "strong")
    rows = [(row["move"], MOVES[row["move"]], number(row["loss"])) for row in document["segments"]]
    yield Grid(("segment", "what happens", "loss at its end"), rows, frozenset({"segment", "what happens"}))
    yield Line(f"Low: at most {percent(LOW)} of the loss of a constant output above the loss of A or B.", "quiet")


def _conclusion(document: dict[str, Any]) -> str:
    path, line = document["path_low"], document["line_low"]
    if not document["segments"]:
        return "A and B have the same weights."
    if max(document["ends"]) >= document["constant"]:
        return "A or B is no better than a constant output, so there is no low loss to keep."
    if path:
        return f"The loss stays low on the path. On the straight line, it {'stays low, too' if line else 'does not'}."
    fewer = f"{_chain(document['kept'])} of their nodes cannot do the work of all {_chain(document['nodes'])}"
    other = "stays low" if line else "does not stay low either"
    return f"The loss does not stay low on the path: {fewer}. On the straight line, it {other}."


def _chain(counts: list[int]) -> str:
    return "-".join(f"{count:,}" for count in counts)


def picture(found: Connection) -> Figure:
    """Plot the loss along the path and along the straight line.

    Args:
        found: The path.
    """
    with house_style():
        figure, axes = panels(1, 1, width=4.2, height=2.6)
        ax = axes[0, 0]
        floor = max(found.constant * 1e-16, float(np.finfo(float).tiny))
        line = np.linspace(0, max(len(found.moves), 1), len(found.line))
        ax.plot(line, found.line.clamp(min=floor), "--", color=RED, label="straight line")
        ax.plot(found.position, found.path.clamp(min=floor), color=BLUE, label="path")
        ax.plot(range(len(found.nets)), found.corners.clamp(min=floor), "o", color=BLUE, ms=4, label="corners")
        ax.axhline(found.constant, color=GRAY, ls=":", lw=1, label="constant output")
        ax.set(yscale="log", ylabel="loss", xticks=range(len(found.nets)))
        ax.set_xticklabels(["A", *[""] * (len(found.nets) - 2), "B"])
        ax.set_xticks([i + 0.5 for i in range(len(found.moves))], found.moves, minor=True, rotation=90)
        ax.tick_params("x", which="minor", length=0, labelsize=7)
        legend(figure, ax)
    return figure
