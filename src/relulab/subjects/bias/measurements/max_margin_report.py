"""The max-margin vectors of a data set as a JSON document, as facts and text, as arrays and as a figure."""

import numpy as np
from matplotlib.figure import Figure

from relulab.data.labeled import Labeled
from relulab.lab.show.figure import BLUE, COAL, RED, house_style, legend, panels
from relulab.lab.show.parts import Fact, Line, Part
from relulab.subjects.bias.instruments.max_margin import MaxMargin, Side
from relulab.subjects.bias.instruments.separability import Separability

SIDES = ("positive", "negative")
DRAWN = 5000  # largest number of points in the figure


def max_margin_rows(vectors: MaxMargin, separable: Separability) -> dict:
    """Both max-margin vectors, their cosine, and whether IB theorem 1 applies to the data.

    Args:
        vectors: Result of ``max_margin``.
        separable: Result of ``separability`` on the same data.
    """
    w_plus, w_minus = (side.w / side.w.norm() for side in vectors)
    return {
        "positive": _side(vectors.positive), "negative": _side(vectors.negative), "cosine": float(w_plus @ w_minus),
        "separable": separable.holds, "broken": separable.broken,
        "applies": separable.holds and all(side.spans for side in vectors),
    }  # fmt: skip


def _side(side: Side) -> dict:
    supports = side.supports
    return {
        "w": side.w.tolist(), "margin": side.margin, "supports": supports.tolist(),
        "multipliers": side.multipliers[supports].tolist(), "rank": side.rank, "spans": side.spans,
        "residual": side.residual, "kkt": side.kkt._asdict(),
    }  # fmt: skip


def arrays(vectors: MaxMargin) -> dict[str, np.ndarray]:
    """Arrays for an .npz file: both vectors, the multiplier of every row, and the rows of the support examples.

    Args:
        vectors: Result of ``max_margin``.
    """
    plus, minus = vectors
    alpha = plus.multipliers + minus.multipliers
    return {
        "w_plus": plus.w.numpy(), "w_minus": minus.w.numpy(), "multipliers": alpha.numpy(),
        "supports_plus": plus.supports.numpy(), "supports_minus": minus.supports.numpy(),
    }  # fmt: skip


def facts(rows: dict) -> list[Part]:
    """The short answers: whether IB theorem 1 applies, and its conditions one by one.

    Args:
        rows: Result of ``max_margin_rows``, with the number of ``columns``.
    """
    d = rows["columns"]
    separable = "yes" if rows["separable"] else f"no ({rows['broken']:,} broken pairs)"
    return [
        Fact("IB theorem 1 applies", "yes" if rows["applies"] else "no"),
        Fact("orthogonally separable", separable),
        *(Fact(f"span of {name} support examples", f"{rows[name]['rank']} of {d} dimensions") for name in SIDES),
        Fact("cosine of w₊ and w₋", f"{rows['cosine']:.4f}"),
    ]


def explanation(rows: dict, table: str) -> list[Part]:
    """What the answer means for networks trained on the data, and what to do next.

    Args:
        rows: Result of ``max_margin_rows``.
        table: The file as it is written on the command line, with its label option.
    """
    if rows["applies"]:
        return [
            "Theorem 1 predicts two kinds of live neurons in a two-layer ReLU network without biases: along w₊ with "
            "positive output weights, and along w₋ with negative output weights.",
            "It requires gradient flow on the cross-entropy from a small balanced start. It holds for almost all such "
            "data, with probability at least 1 − 2^{−p} for p neurons.",
            Line(f"Next, train such a network: relulab check IB.T1 --data {table}", "quiet"),
        ]
    if rows["separable"]:
        return [
            "Theorem 1 requires support examples that span all dimensions. The authors expect the same limit without "
            "this condition (section 3.1), but it is not proved."
        ]
    return [Line(f"Next, list the broken pairs: relulab measure separability {table}", "quiet")]


def picture(vectors: MaxMargin, data: Labeled) -> Figure:
    """Plot every point by its inner products with w₊ and w₋, with circles and squares around the support examples.

    At most 5,000 points are drawn, and all support examples.

    Args:
        vectors: Result of ``max_margin``.
        data: The points and labels.
    """
    along = [(data.X @ side.w).numpy() for side in vectors]
    supports = [side.supports.numpy() for side in vectors]
    drawn = np.unique(np.linspace(0, len(data.X) - 1, min(len(data.X), DRAWN)).round().astype(int))
    with house_style():
        figure, axes = panels(1, 1, width=3.6, height=3.0)
        ax = axes[0, 0]
        looks = ((1, "w₊", BLUE, ".", "o"), (-1, "w₋", RED, "^", "s"))
        for k, (label, vector, color, dot, ring) in enumerate(looks):
            rows, name = drawn[data.y.numpy()[drawn] == label], f"label {data.names[label == 1]}"
            ax.plot(along[0][rows], along[1][rows], dot, ms=3, color=color, label=f"points with {name}")
            style = {"ms": 8, "mfc": "none", "color": color, "label": f"support examples of {vector}"}
            ax.plot(along[0][supports[k]], along[1][supports[k]], ring, **style)
        ax.axvline(1, color=COAL, linewidth=0.8)
        ax.axhline(1, color=COAL, linewidth=0.8)
        ax.set(
            title="gray lines: inner product 1, where support examples lie",
            xlabel="inner product with max-margin vector w₊",
            ylabel="inner product with w₋",
        )
        legend(figure, ax, columns=2)
    return figure
