"""A path between two networks on which the loss stays low, and the straight line between them."""

from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import torch
from annotated_types import Ge
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.inputs.two_networks import TwoNetworks
from relulab.lab.measurement import Measurement, Outcome
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.measurements.connection_report import parts, picture, stays_low
from relulab.subjects.specialization.tools.agreement import outputs
from relulab.subjects.specialization.tools.connection import Connection, connect

FEW = 20  # with fewer points, the same ones make the path and measure the loss


class ConnectNetworks(TwoNetworks, Measurement):
    """Find a path between two networks on which the loss stays low, and compare it with the straight line."""

    name: ClassVar = "connect"
    source: ClassVar = "SS appendix E"
    ids: ClassVar = ("SS.E",)
    endings: ClassVar = (".npz", ".png", ".svg", ".pdf")
    kept: ClassVar = "the path and the loss along it, or a plot of the loss"

    teacher: Path | None = None
    """Network whose outputs are the targets. Default: the labels of the data, else the mean output of A and B."""
    keep: int | str | None = None
    """Nodes of each hidden layer that do the work on the path, such as 8 or 8,16. Default: best number, or half."""
    steps: Annotated[int, Ge(1)] = 10
    """Number of positions per segment at which the loss is measured."""

    def measure(self) -> Outcome:
        a, b, x = self.load()
        if isinstance(a, MLP) and isinstance(b, MLP):
            a, b = a.double(), b.double()
            if a.widths != b.widths:
                shapes = " and ".join("-".join(map(str, net.widths)) for net in (a, b))
                raise UserError(
                    f"{self.a} and {self.b}: expected networks of the same shape, got {shapes}: a path needs the same "
                    "number of weights at both ends"
                )
        y, targets = self.targets(a, b, x)
        first = torch.arange(len(x)) % 2 == 0
        if len(x) < FEW:
            self.note(f"{len(x)} points are too few to set half of them aside, so losses are measured on all of them")
        test = None if len(x) < FEW else (x[~first], y[~first])
        made = (x, y) if test is None else (x[first], y[first])
        found = connect(a, b, *made, keep=self.counts(), steps=self.steps, test=test)
        document = {
            "a": str(self.a), "b": str(self.b), "data": str(self.data), "targets": targets,
            "loss": "mean squared error" if y.dim() > 1 else "cross-entropy",
            "points": len(made[0] if test is None else test[0]), "nodes": list(found.nodes), "kept": list(found.keep),
            "ends": list(found.ends), "constant": found.constant,
            "path": float(found.path.max()), "line": float(found.line.max()),
            "path_low": stays_low(found, found.path), "line_low": stays_low(found, found.line),
            "segments": [
                {"move": move, "loss": loss} for move, loss in zip(found.moves, found.corners[1:].tolist(), strict=True)
            ],
        }  # fmt: skip
        return Outcome(document, list(parts(document)), arrays=lambda: _arrays(found), picture=lambda: picture(found))

    def counts(self) -> int | list[int] | None:
        """The numbers of nodes to keep; raise a UserError for other texts."""
        if not isinstance(self.keep, str):
            return self.keep
        try:
            return [int(part) for part in self.keep.split(",")]
        except ValueError:
            raise UserError(f"--keep: expected numbers such as 8 or 8,16, got {self.keep}") from None

    def targets(self, a: nn.Module, b: nn.Module, x: Tensor) -> tuple[Tensor, str]:
        """Return what the networks should put out, (N, C) or classes (N,), and what that is in words."""
        if (star := self.optional_network(self.teacher)) is not None:
            y = outputs(star.double(), x)
            if y.shape[1] != (count := outputs(a, x[:1]).shape[1]):
                raise UserError(f"{self.teacher}: expected {count} outputs, as those of {self.a}, got {y.shape[1]}")
            return y, "the outputs of the teacher"
        f_a, f_b = (outputs(net, x) for net in (a, b))
        labels = self.loaded.labels
        if f_a.shape[1] > 1 and (classes := self.class_numbers(f_a.shape[1])) is not None:
            return classes, "the labels"
        if f_a.shape[1] == 1 and labels is not None and labels.dtype.kind in "iubf":
            return torch.from_numpy(labels.astype(np.float64))[:, None], "the labels"
        return (f_a + f_b) / 2, "the mean outputs of A and B"


def _arrays(found: Connection) -> dict[str, np.ndarray]:
    first = found.nets[0]
    if isinstance(first, MLP):
        weights = {
            f"{name}{l + 1}": torch.cat([getattr(net, name)[l].data for net in found.nets]).numpy()
            for l in (0, 1)
            for name in ("W", "b")
        }
    else:
        states = [net.state_dict() for net in found.nets]
        weights = {name: torch.stack([state[name] for state in states]).numpy() for name in states[0]}
    losses = {"position": found.position, "loss_on_path": found.path, "loss_on_line": found.line}
    return {name: loss.numpy() for name, loss in losses.items()} | {"moves": np.array(found.moves)} | weights


MEASUREMENT = ConnectNetworks
