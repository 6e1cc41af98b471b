"""The separability of a data set as a JSON document, as facts, as arrays and as a figure."""

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from relulab.data.labeled import Labeled
from relulab.lab.show.figure import BLUE, COAL, RED, headline, house_style, legend, panels
from relulab.lab.show.parts import Fact, Part
from relulab.subjects.bias.instruments.separability import Pairs, Separability

DRAWN = 1000  # largest number of points per label whose pairs are drawn


def separability_row(layer: str, result: Separability, data: Labeled) -> dict:
    """The numbers of one layer.

    Args:
        layer: Name of the layer, or ``input``.
        result: Result of ``separability`` on the layer's features.
        data: The points and labels.
    """
    kept = result.kept
    return {
        "layer": layer, "points": result.n, "columns": result.d, "separable": result.holds,
        "equal": _kind(result.equal, "least"), "different": _kind(result.different, "greatest"),
        "violation": result.violation, "cosine_violation": result.cosine_violation,
        "worst": [pair._asdict() for pair in result.worst], "kept": None if kept is None else len(kept),
        "kept_of": None if kept is None else _by_label(data, kept),
    }  # fmt: skip


def _by_label(data: Labeled, rows: Tensor) -> dict[str, int]:
    """The number of the given rows with each label, by the names of the labels in the file."""
    return {name: int((data.y[rows] == sign).sum()) for sign, name in zip((-1, 1), data.names, strict=True)}


def _kind(pairs: Pairs, which: str) -> dict:
    return {
        "pairs": pairs.count, "broken": pairs.broken, f"{which}_inner": pairs.inner._asdict(),
        f"{which}_cosine": pairs.cosine._asdict(),
    }  # fmt: skip


def arrays(results: dict[str, Separability]) -> dict[str, np.ndarray]:
    """Arrays for an .npz file: for every layer, the rows of the separable subset and the worst pairs.

    Args:
        results: Results of ``separability`` by layer.
    """
    contents = {}
    for layer, result in results.items():
        if result.kept is not None:
            contents[f"{layer}.kept"] = result.kept.numpy()
        contents[f"{layer}.pairs"] = np.array([pair[:2] for pair in result.worst], dtype=np.int64).reshape(-1, 2)
        for k, name in ((2, "inner"), (3, "cosine")):
            contents[f"{layer}.{name}"] = np.array([pair[k] for pair in result.worst], dtype=np.float64)
    return contents


def facts(row: dict) -> list[Part]:
    """The short answers for one layer, the most important first.

    Args:
        row: Result of ``separability_row``.
    """
    equal, different = row["equal"], row["different"]
    if row["separable"]:
        return [
            Fact("orthogonally separable", "yes"),
            Fact("equal labels", _extremes("at least", equal, "least")),
            Fact("different labels", _extremes("at most", different, "greatest")),
        ]
    broken, pairs = (equal[key] + different[key] for key in ("broken", "pairs"))
    parts = [
        Fact("orthogonally separable", "no"),
        Fact("broken pairs", f"{broken:,} of {pairs:,} (each point also paired with itself)"),
        Fact("equal labels", f"{equal['broken']:,} of {equal['pairs']:,} pairs have an inner product ≤ 0"),
        Fact("different labels", f"{different['broken']:,} of {different['pairs']:,} pairs have an inner product > 0"),
        Fact("largest cosine of the wrong sign", f"{row['cosine_violation']:.3g}"),
    ]
    if row["kept"] is not None:
        parts.append(Fact("greedy separable subset", _subset(row)))
    return [*parts]


def _extremes(word: str, kind: dict, which: str) -> str:
    inner, cosine = kind[f"{which}_inner"]["inner"], kind[f"{which}_cosine"]["cosine"]
    return f"inner products {word} {inner:.3g}, cosines {word} {cosine:.3g}"


def _subset(row: dict) -> str:
    each = ", ".join(f"{count:,} with label {name}" for name, count in row["kept_of"].items())
    one_class = 0 in row["kept_of"].values()
    note = ", only one class is left" if one_class else ""
    return f"{row['kept']:,} of {row['points']:,} points: {each}{note}"


def picture(layers: dict[str, Tensor], data: Labeled) -> Figure:
    """Plot, one panel per layer, histograms of the cosines of pairs with equal and with different labels.

    Of each label at most 1,000 points are used, evenly spaced from the first to the last.

    Args:
        layers: Features by layer, (n, k) each.
        data: The points and labels.
    """
    with house_style():
        columns = min(len(layers), 4)
        figure, axes = panels(-(-len(layers) // columns), columns, width=2.8, height=2.2)
        for ax in axes.flat[len(layers) :]:
            ax.set_axis_off()
        for ax, (name, x) in zip(axes.flat, layers.items(), strict=False):
            u = [_unit_vectors(x.reshape(len(x), -1).numpy()[data.y.numpy() == label]) for label in (1, -1)]
            equal = [(v @ v.T)[np.triu_indices(len(v), 1)] for v in u]
            for cosines, color, hatch, label in (
                (np.concatenate(equal), BLUE, "", "equal labels"),
                ((u[0] @ u[1].T).ravel(), RED, "////", "different labels"),
            ):
                if len(cosines):
                    share = np.full(len(cosines), 1 / len(cosines))
                    style = {
                        "histtype": "stepfilled",
                        "color": color,
                        "alpha": 0.6,
                        "hatch": hatch,
                        "ec": COAL,
                        "lw": 0,
                    }
                    ax.hist(cosines.clip(-1, 1), np.linspace(-1, 1, 61), weights=share, label=label, **style)
            ax.axvline(0, color=COAL, linewidth=0.8)
            title = name if name == "input" else f"features of layer {name}"
            ax.set(title=title, xlabel="cosine of a pair", ylabel="share of pairs")
        headline(figure, "Separable: all equal labels right of 0, all different labels at or left of 0")
        legend(figure, axes[0, 0])
    return figure


def _unit_vectors(x: np.ndarray) -> np.ndarray:
    """At most 1,000 of the points, scaled to unit length; zero points stay zero."""
    x = x[np.unique(np.linspace(0, len(x) - 1, min(len(x), DRAWN)).round().astype(int))]
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(norms > 0, norms, 1)
