"""A user's two-layer network pruned to two neurons, one per class, with the costs."""

from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from relulab.core.angle import unit_rows
from relulab.core.errors import UserError
from relulab.core.share import percents
from relulab.data.labeled import Labeled
from relulab.io.network import encoded, state_dict_bytes
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.inputs.network_files import NetworkFiles
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Fact, Part
from relulab.lab.show.words import number
from relulab.nets.mlp import as_mlp
from relulab.subjects.bias.instruments.max_margin import max_margin
from relulab.subjects.bias.tools.two_neurons import TwoNeurons, two_neurons

FEW = 20  # with fewer points, the costs are measured on the points that decide which neurons are off


class TwoNeuronsOfNetwork(LabeledTable, NetworkFiles, Measurement):
    """Prune a two-layer network to one neuron per class, as IB theorem 1 predicts, and measure what that costs."""

    name: ClassVar = "two-neurons"
    title: ClassVar = "a two-layer network and labeled points"
    source: ClassVar = "IB theorem 1"
    ids: ClassVar = ("IB.T1",)
    arguments: ClassVar = ("network",)
    endings: ClassVar = (".safetensors", ".pt")
    kept: ClassVar = "the network with two neurons"

    network: Path
    """Two-layer network with one output: .safetensors, .npz, .pt or .pth."""

    def load(self) -> tuple[Any, ...]:
        """Return the network and the labeled points."""
        return as_mlp(self.read_network(self.network)), self._table()

    def measure(self) -> Outcome:
        net, data = self.load()
        chosen = torch.arange(len(data.X)) % 2 == 0
        if len(data.X) < FEW:
            self.note(f"{len(data.X)} points are too few to set some aside, so all decide which neurons are off")
            chosen = torch.ones(len(data.X), dtype=torch.bool)
        test = data if chosen.all() else data._replace(X=data.X[~chosen], y=data.y[~chosen])
        small = two_neurons(net, data.X[chosen], test)
        cosines = _cosines(small, data)
        if cosines is None:
            self.note("a class has no max-margin vector, so the directions of the two neurons are not compared with it")
        document = {
            "network": str(self.network), "data": str(self.data), "neurons": net.widths[1],
            "positive": small.positive, "negative": small.negative, "off": small.off, "tested": small.tested,
            "same": small.same._asdict(), "largest": small.largest, "relative": small.relative,
            "accuracy": [found and found._asdict() for found in (small.before, small.after)], "cosines": cosines,
        }  # fmt: skip
        kept = small.net.to(net.dtype)
        files = {".safetensors": lambda: encoded(kept), ".pt": lambda: state_dict_bytes(kept)}
        return Outcome(document, _parts(document, small), files=files)


def _cosines(small: TwoNeurons, data: Labeled) -> list[float | None] | None:
    """The cosines of the two neurons with w₊ and w₋; None for a neuron that is 0, or if a vector does not exist."""
    try:
        vectors = max_margin(data.X, data.y)
    except UserError:
        return None
    pairs: list[tuple[Tensor, Tensor]] = list(zip(small.net.W[0].data[0].T, (side.w for side in vectors), strict=True))
    # unit vectors first: the products of very small or very large vectors leave the range of float64
    return [float(unit_rows(w[None])[0] @ unit_rows(v[None])[0]) if w.any() else None for w, v in pairs]


def _parts(document: dict[str, Any], small: TwoNeurons) -> list[Part]:
    parts: list[Part] = [
        Fact("neurons", f"{small.positive} with positive and {small.negative} with negative output weight were merged, "
             f"{small.off} were off"),
        Fact("same prediction", f"{percents(small.same)} of {small.tested:,} points"),
        Fact("largest change of the output", f"{number(small.largest)}, or {small.relative:.2%} of the largest output"),
    ]  # fmt: skip
    if small.before and small.after:
        parts.append(Fact("accuracy", f"{percents(small.before)} before, {percents(small.after)} after"))
    if document["cosines"]:
        names = ("w₊", "w₋")
        words = [f"{c:.4f} with {name}" for c, name in zip(document["cosines"], names, strict=True) if c is not None]
        parts.append(Fact("cosine of the merged neurons", ", ".join(words)))
    return [
        *parts,
        "Points are shown to both networks as they are. If the network was trained on them, the shares and their "
        "intervals describe training points, not new ones.",
    ]


MEASUREMENT = TwoNeuronsOfNetwork
