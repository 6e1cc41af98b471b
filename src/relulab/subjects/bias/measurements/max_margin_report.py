"""What the max-margin vectors of a data set say: as numbers for a document, in sentences, as a picture."""

import numpy as np
from matplotlib.figure import Figure

from relulab.data.labeled import Labeled
from relulab.lab.show.figure import BLUE, COAL, RED, house_style, legend, panels
from relulab.subjects.bias.instruments.max_margin import MaxMargin, Side
from relulab.subjects.bias.instruments.separability import Separability

DRAWN = 5000  # points that are drawn


def max_margin_rows(found: MaxMargin, separable: Separability) -> dict:
    """Both sides, what they have to do with each other, and whether IB theorem 1 speaks about the data."""
    w_plus, w_minus = (side.w / side.w.norm() for side in found)
    return {
        "positive": _side(found.positive), "negative": _side(found.negative), "cosine": float(w_plus @ w_minus),
        "separable": separable.holds, "broken": separable.broken,
        "applies": separable.holds and all(side.spans for side in found),
    }  # fmt: skip


def _side(side: Side) -> dict:
    supports = side.supports
    return {
        "w": side.w.tolist(), "margin": side.margin, "supports": supports.tolist(),
        "multipliers": side.multipliers[supports].tolist(), "rank": side.rank, "spans": side.spans,
        "residual": side.residual, "kkt": side.kkt._asdict(),
    }  # fmt: skip


def arrays(found: MaxMargin) -> dict[str, np.ndarray]:
    """For a file: both vectors, the multiplier of every row in its own class, and the rows of the supports."""
    plus, minus = found
    alpha = plus.multipliers + minus.multipliers
    return {
        "w_plus": plus.w.numpy(), "w_minus": minus.w.numpy(), "multipliers": alpha.numpy(),
        "supports_plus": plus.supports.numpy(), "supports_minus": minus.supports.numpy(),
    }  # fmt: skip


def sentences(rows: dict, d: int) -> list[str]:
    """What the numbers mean for IB."""
    missing = []
    if not rows["separable"]:
        missing.append(f"the data are not orthogonally separable ({rows['broken']:,} pairs break eq. 1)")
    for name in ("positive", "negative"):
        if not rows[name]["spans"]:
            missing.append(f"the {name} support examples span {rows[name]['rank']} of {d} dimensions")
    if not missing:
        return [
            "IB theorem 1 applies: the data are orthogonally separable and the support examples of both classes span "
            f"all {d} dimensions.",
            "It predicts, for almost all such data and with a probability that grows with the width, that a two-layer "
            "ReLU network trained by gradient flow on the cross-entropy from a small balanced start comes to have two "
            "kinds of neurons only: along w₊ with positive and along w₋ with negative output weights. Up to its size "
            "it becomes u ρ(w₊ᵀx) − z ρ(w₋ᵀx) with u, z ≥ 0.",
        ]
    said = [f"IB theorem 1 does not apply: {'; '.join(missing)}."]
    if rows["separable"]:
        said.append(
            "The data are orthogonally separable, though. Of the span the authors think that it could be done without "
            "(section 3.1): w₊ and w₋ are what they expect then, but not what is proved."
        )
    return said


def picture(found: MaxMargin, data: Labeled) -> Figure:
    """Every point by w₊ᵀx and w₋ᵀx, support examples ringed; of more than 5,000 points some, and all supports."""
    along = [(data.X @ side.w).numpy() for side in found]
    supports = [side.supports.numpy() for side in found]
    some = np.unique(np.linspace(0, len(data.X) - 1, min(len(data.X), DRAWN)).round().astype(int))
    with house_style():
        figure, axes = panels(1, 1, width=3.6, height=3.0)
        ax = axes[0, 0]
        for k, (label, color) in enumerate(((1, BLUE), (-1, RED))):
            rows = some[data.y.numpy()[some] == label]
            ax.plot(along[0][rows], along[1][rows], ".", ms=3, color=color, label=f"label {data.names[label == 1]}")
            ring = {"ms": 7, "mfc": "none", "color": color, "label": f"supports of {'w₊' if label == 1 else 'w₋'}"}
            ax.plot(along[0][supports[k]], along[1][supports[k]], "o", **ring)
        ax.axvline(1, color=COAL, linewidth=0.8)
        ax.axhline(1, color=COAL, linewidth=0.8)
        ax.set(xlabel="w₊ᵀx", ylabel="w₋ᵀx")
        legend(figure, ax, columns=2)
    return figure
