"""Whether points of two classes, and the features of a network on them, are orthogonally separable."""

import shlex
from math import prod
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled
from relulab.io.network import load
from relulab.io.tables import read_table
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Grid, Line, Part
from relulab.lab.show.words import number
from relulab.subjects.bias.instruments.separability import separability
from relulab.subjects.bias.measurements.separability_report import arrays, picture, sentences, separability_row
from relulab.subjects.bias.tools.features import features

COLUMNS = ("row i", "row j", "x_iᵀx_j", "cosine", "wrong because")


class SeparabilityOfTable(Measurement):
    """Are all points of equal labels at acute angles, all of different ones not? Which pairs break it, how far?"""

    name: ClassVar = "separability"
    title: ClassVar = "labeled points, and perhaps a network"
    source: ClassVar = "IB definition 1, eq. 1"
    arguments: ClassVar = ("file",)
    endings: ClassVar = (".npz",)
    kept: ClassVar = "separable rows and worst pairs"
    drawn: ClassVar = "the cosines of pairs of equal and of different labels"

    file: Path
    """Points with labels: .csv, .tsv, .parquet, .npz (X and y) or .npy."""
    label: str | None = None
    """Column or array of labels, by name or number; default: y, label, class or the last."""
    network: Path | None = None
    """A network: features after every ReLU are measured too."""
    slope: float | None = None
    """Slope of leaky ReLUs, which files of weights do not tell."""
    shape: str | None = None
    """Shape of the pictures that rows are, as 1,28,28."""
    pairs: Annotated[int, Ge(0)] = 10
    """How many of the worst pairs are shown."""

    def load(self) -> tuple[Labeled, dict[str, Tensor]]:
        """The points, and by layer what is measured: the points themselves and the features of the network."""
        data = read_table(self.file, self.label)
        x = _shaped(data.X, self.shape)
        if self.network is None:
            return data, {"input": data.X}
        net = load(self.network, slope=self.slope).double()
        _check_pictures(net, x)
        return data, features(net, x)

    def busy(self) -> str:
        return f"looking at all pairs of points of {self.file.name} …"

    def measure(self) -> Outcome:
        data, layers = self.load()
        found = {name: separability(f, data.y, pairs=self.pairs) for name, f in layers.items()}
        document = {
            "data": str(self.file), "label": self.label, "network": str(self.network) if self.network else None,
            "labels": dict(zip("-+", data.names, strict=True)),
            "layers": [separability_row(name, one, data) for name, one in found.items()],
        }  # fmt: skip
        return Outcome(document, _told(document), lambda: arrays(found), lambda: picture(layers, data))


def _told(document: dict[str, Any]) -> list[Part]:
    parts: list[Part] = [label_line(document)]
    for row in document["layers"]:
        parts += sentences(row)
        if row["worst"]:
            parts.append(Grid(COLUMNS, [_pair(pair) for pair in row["worst"]], frozenset({"wrong because"})))
    if document["layers"][0]["separable"]:
        label = document["label"]
        words = shlex.quote(document["data"]) + (f" --label {shlex.quote(label)}" if label is not None else "")
        parts.append(
            "IB theorem 1 speaks about such data if the support examples of both classes span all dimensions: "
            f"relulab measure max-margin {words}"
        )
    else:
        parts.append("IB theorem 1 says nothing about networks trained on these data.")
    return parts


def _pair(pair: dict[str, Any]) -> tuple[str, ...]:
    why = "labels differ" if pair["inner"] > 0 else "labels are equal"
    return str(pair["i"]), str(pair["j"]), number(pair["inner"]), f"{pair['cosine']:.4f}", why


def label_line(document: dict[str, Any]) -> Line:
    """Which of the user's labels is +1 and which −1."""
    minus, plus = (document["labels"][sign] for sign in "-+")
    return Line(f"{document['data']}: label {plus} is +1, label {minus} is −1", "quiet")


def _shaped(X: Tensor, shape: str | None) -> Tensor:
    """Rows as pictures, for networks that take those."""
    if shape is None:
        return X
    try:
        return X.reshape(len(X), *(int(word) for word in shape.split(",")))
    except (ValueError, RuntimeError):
        raise UserError(f"--shape {shape}: rows of {X.shape[1]} numbers do not have it; write 1,28,28, say") from None


def _check_pictures(net: nn.Module, x: Tensor) -> None:
    """Rows for a network that takes pictures: how to say what they are. Only exported programs tell their shape."""
    sizes = getattr(net, "sizes", [])[1:]
    if x.dim() > 2 or len(sizes) < 2:
        return
    takes = ", ".join("any" if n is None else str(n) for n in sizes)
    said = f"rows of {x.shape[1]} numbers for a network that takes pictures of shape ({takes})"
    if None in sizes:
        raise UserError(f"{said}: say what shape the rows have, as --shape 1,28,28")
    if prod(sizes) != x.shape[1]:
        raise UserError(f"{said}, {prod(sizes)} numbers: no --shape makes one of the other")
    raise UserError(f"{said}: add --shape {','.join(map(str, sizes))}")


MEASUREMENT = SeparabilityOfTable
