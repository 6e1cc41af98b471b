"""Orthogonal separability of points of two classes, and of the features of a network on them."""

from math import prod
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.inputs.network_files import NetworkFiles
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Grid, Line, Part
from relulab.lab.show.words import number
from relulab.subjects.bias.instruments.separability import separability
from relulab.subjects.bias.measurements.separability_report import arrays, facts, picture, separability_row
from relulab.subjects.bias.tools.features import features

COLUMNS = ("row i", "row j", "x_iᵀx_j", "cosine", "labels")


class SeparabilityOfTable(LabeledTable, NetworkFiles, Measurement):
    """Test whether points, and network features, are orthogonally separable, and list the broken pairs."""

    name: ClassVar = "separability"
    title: ClassVar = "labeled points, optionally with a network"
    source: ClassVar = "IB section 2, eq. 1"
    arguments: ClassVar = ("data",)
    endings: ClassVar = (".npz",)
    kept: ClassVar = "the rows of a separable subset and the worst pairs"
    drawn: ClassVar = "histograms of the cosines of pairs with equal and with different labels"

    network: Path | None = None
    """A network whose features after every ReLU are measured too."""
    shape: str | None = None
    """Shape of the image in each row, such as 1,28,28."""
    pairs: Annotated[int, Ge(0)] = 10
    """Number of worst pairs to show."""

    def load(self) -> tuple[Labeled, dict[str, Tensor]]:
        """Read the points; return them with the points and the features of the network, by layer."""
        data = self._table()
        x = _shaped(data.X, self.shape)
        if self.network is None:
            return data, {"input": data.X}
        net = self.read_network(self.network).double()
        _check_pictures(net, x)
        return data, features(net, x)

    def busy(self) -> str:
        return f"checking all pairs of points in {self.data.name} …"

    def measure(self) -> Outcome:
        data, layers = self.load()
        results = {name: separability(f, data.y, pairs=self.pairs) for name, f in layers.items()}
        document = {
            "data": str(self.data), "label": self.label, "network": str(self.network) if self.network else None,
            "labels": dict(zip("-+", data.names, strict=True)),
            "layers": [separability_row(name, result, data) for name, result in results.items()],
        }  # fmt: skip
        parts = _parts(document, self.data_words())
        return Outcome(document, parts, lambda: arrays(results), lambda: picture(layers, data))


def _parts(document: dict[str, Any], table: str) -> list[Part]:
    parts: list[Part] = []
    for row in document["layers"]:
        if len(document["layers"]) > 1:
            parts.append(Line("Input" if row["layer"] == "input" else f"Features of layer {row['layer']}", "strong"))
        parts += facts(row)
        if row["worst"]:
            parts.append(Grid(COLUMNS, [_pair(pair) for pair in row["worst"]], frozenset({COLUMNS[-1]})))
    if document["layers"][0]["separable"]:
        parts += [
            "IB theorem 1 applies if the support examples of both classes span all dimensions.",
            Line(f"Next: relulab measure max-margin {table}", "quiet"),
        ]
    else:
        parts.append("IB theorem 1 does not apply to networks trained on these data.")
    return parts


def _pair(pair: dict[str, Any]) -> tuple[str, ...]:
    labels = "different" if pair["inner"] > 0 else "equal"
    return str(pair["i"]), str(pair["j"]), number(pair["inner"]), f"{pair['cosine']:.4f}", labels


def _shaped(X: Tensor, shape: str | None) -> Tensor:
    """Reshape the rows to images, for networks that take images."""
    if shape is None:
        return X
    try:
        return X.reshape(len(X), *(int(word) for word in shape.split(",")))
    except (ValueError, RuntimeError):
        raise UserError(
            f"--shape {shape} does not fit rows of {X.shape[1]} numbers: give sizes such as 1,28,28"
        ) from None


def _check_pictures(net: nn.Module, x: Tensor) -> None:
    """Raise an error that names the missing --shape if the network takes images. Only exported programs know it."""
    sizes = getattr(net, "sizes", [])[1:]
    if x.dim() > 2 or len(sizes) < 2:
        return
    takes = ", ".join("any" if n is None else str(n) for n in sizes)
    problem = f"the network takes images of shape ({takes}), but the rows have {x.shape[1]} numbers"
    if None in sizes:
        raise UserError(f"{problem}: give the shape of an image, such as --shape 1,28,28")
    if prod(sizes) != x.shape[1]:
        raise UserError(f"{problem}, not {prod(sizes)}: use data that fit the network")
    raise UserError(f"{problem}: add --shape {','.join(map(str, sizes))}")


MEASUREMENT = SeparabilityOfTable
