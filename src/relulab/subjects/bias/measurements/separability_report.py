"""What a look at the pairs of a data set found: as numbers for a document, in sentences, as a picture."""

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from relulab.data.labeled import Labeled
from relulab.lab.show.figure import BLUE, COAL, RED, house_style, legend, panels
from relulab.subjects.bias.instruments.separability import Pairs, Separability

DRAWN = 1000  # points of a label whose pairs are drawn


def separability_row(layer: str, found: Separability, data: Labeled) -> dict:
    """The numbers of one layer, plain ones."""
    return {
        "layer": layer, "points": found.n, "columns": found.d, "separable": found.holds,
        "equal": _kind(found.equal, "least"), "different": _kind(found.different, "greatest"),
        "violation": found.violation, "cosine_violation": found.cosine_violation,
        "worst": [pair._asdict() for pair in found.worst], "kept": None if found.kept is None else len(found.kept),
        "kept_of": None if found.kept is None else _by_label(data, found.kept),
    }  # fmt: skip


def _by_label(data: Labeled, rows: Tensor) -> dict[str, int]:
    """How many of some rows have either label, by the user's own names."""
    return {name: int((data.y[rows] == sign).sum()) for sign, name in zip((-1, 1), data.names, strict=True)}


def _kind(pairs: Pairs, which: str) -> dict:
    return {
        "pairs": pairs.count, "broken": pairs.broken, f"{which}_inner": pairs.inner._asdict(),
        f"{which}_cosine": pairs.cosine._asdict(),
    }  # fmt: skip


def arrays(found: dict[str, Separability]) -> dict[str, np.ndarray]:
    """For a file: of every layer the rows of the separable subset, and the worst pairs as rows, inner, cosine."""
    contents = {}
    for layer, one in found.items():
        if one.kept is not None:
            contents[f"{layer}.kept"] = one.kept.numpy()
        contents[f"{layer}.pairs"] = np.array([pair[:2] for pair in one.worst], dtype=np.int64).reshape(-1, 2)
        for k, name in ((2, "inner"), (3, "cosine")):
            contents[f"{layer}.{name}"] = np.array([pair[k] for pair in one.worst], dtype=np.float64)
    return contents


def sentences(row: dict) -> list[str]:
    """What the numbers mean for IB."""
    what = "the data are" if row["layer"] == "input" else f"the features of layer {row['layer']} are"
    equal, different = row["equal"], row["different"]
    if row["separable"]:
        return [
            f"{what[0].upper()}{what[1:]} orthogonally separable: inner products are at least "
            f"{equal['least_inner']['inner']:.3g} for equal labels and at most "
            f"{different['greatest_inner']['inner']:.3g} for different ones, cosines at least "
            f"{equal['least_cosine']['cosine']:.3g} and at most {different['greatest_cosine']['cosine']:.3g}."
        ]
    said = [
        f"{what[0].upper()}{what[1:]} not orthogonally separable: of {equal['pairs']:,} pairs of equal labels, each "
        f"point with itself among them, "
        f"{equal['broken']:,} have an inner product of 0 or less, of {different['pairs']:,} pairs of different labels "
        f"{different['broken']:,} have one above 0; cosines are up to {row['cosine_violation']:.3g} on the wrong side."
    ]
    if row["kept"] is not None:
        each = ", ".join(f"{count:,} of label {name}" for name, count in row["kept_of"].items())
        one = " They are of one class only, so nothing is left to separate." if 0 in row["kept_of"].values() else ""
        said.append(
            f"{row['kept']:,} of the {row['points']:,} points, found greedily, are separable ({each}); more may be "
            f"possible.{one}"
        )
    return said


def picture(layers: dict[str, Tensor], data: Labeled) -> Figure:
    """A panel a layer: how often pairs of equal and of different labels have which cosine.

    Of more than 1,000 points of a label, 1,000 are taken, evenly from first to last.
    """
    with house_style():
        columns = min(len(layers), 4)
        figure, axes = panels(-(-len(layers) // columns), columns, width=2.8, height=2.2)
        for ax in axes.flat[len(layers) :]:
            ax.set_axis_off()
        for ax, (name, x) in zip(axes.flat, layers.items(), strict=False):
            u = [_some(x.reshape(len(x), -1).numpy()[data.y.numpy() == label]) for label in (1, -1)]
            equal = [(v @ v.T)[np.triu_indices(len(v), 1)] for v in u]
            for cosines, color, words in (
                (np.concatenate(equal), BLUE, "equal labels"),
                ((u[0] @ u[1].T).ravel(), RED, "different labels"),
            ):
                if len(cosines):
                    share, look = np.full(len(cosines), 1 / len(cosines)), {"color": color, "alpha": 0.6}
                    ax.hist(cosines.clip(-1, 1), np.linspace(-1, 1, 61), weights=share, label=words, **look)
            ax.axvline(0, color=COAL, linewidth=0.8)
            title = name if name == "input" else f"layer {name}"
            ax.set(title=title, xlabel="cosine of a pair", ylabel="share of the pairs")
        legend(figure, axes[0, 0])
    return figure


def _some(x: np.ndarray) -> np.ndarray:
    """Unit vectors along some of the points, zero where a point is."""
    x = x[np.unique(np.linspace(0, len(x) - 1, min(len(x), DRAWN)).round().astype(int))]
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(norms > 0, norms, 1)
