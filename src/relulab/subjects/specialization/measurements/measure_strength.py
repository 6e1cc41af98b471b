"""The training history of a student, from its checkpoints: when each teacher node was recovered, and by whom."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Gt, Lt
from torch import Tensor, nn

from relulab.lab.inputs.network_files import NetworkFiles
from relulab.lab.inputs.with_data import WithData
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Fact, Line, Part, first_rows
from relulab.lab.show.words import number
from relulab.subjects.specialization.instruments.history import focus_shifts, history, picture

SHOWN = 30  # largest number of table rows
COLUMNS = ("teacher node", "strength", "best student", "ρ", "followers", "recovered at", "lost at")


class StrengthOfNodes(WithData, NetworkFiles, Measurement):
    """Compute when each teacher node was recovered and by which student, and how often students shifted focus."""

    name: ClassVar = "strength"
    title: ClassVar = "a teacher, checkpoints of a student, and points"
    source: ClassVar = "S0 section 5.3"
    ids: ClassVar = ("S0.F6", "S0.F7")
    arguments: ClassVar = ("teacher", "checkpoints")
    drawn: ClassVar = "the best correlation of each teacher node over the checkpoints"

    teacher: Path
    """Teacher network: .safetensors, .npz, .pt, .pth or .pt2."""
    checkpoints: list[Path]
    """Checkpoints of the student, in the order of training."""
    threshold: Annotated[float, Gt(0), Lt(1)] = 0.95
    """Correlation above which a teacher node counts as recovered."""

    def load(self) -> tuple[nn.Module, list[nn.Module], Tensor]:
        """Return the teacher, the checkpoints in the order of training, and the points."""
        nets = [self.read_network(path).double() for path in (self.teacher, *in_order(self.checkpoints))]
        return nets[0], nets[1:], self.points_for(*nets)

    def measure(self) -> Outcome:
        histories = history(*self.load())
        layers = [
            {"layer": layer.layer, "nodes": layer.rows(self.threshold), "shifts": focus_shifts(layer.rho).tolist()}
            for layer in histories
        ]
        names = [str(path) for path in in_order(self.checkpoints)]
        document = {
            "teacher": str(self.teacher), "checkpoints": names, "data": str(self.data), "threshold": self.threshold,
            "layers": layers,
        }  # fmt: skip
        return Outcome(document, list(self._parts(document)), picture=lambda: picture(histories, names))

    def _parts(self, document: dict[str, Any]) -> Iterator[Part]:
        names = [Path(path).stem for path in document["checkpoints"]]
        for layer in document["layers"]:
            nodes, shifts = layer["nodes"], layer["shifts"]
            recovered = sum(node["recovered"] for node in nodes)
            lost = sum(node["lost_at"] is not None for node in nodes)
            shifted = sum(map(bool, shifts))
            yield Line(f"Layer {layer['layer']}", "strong")
            yield Fact(
                "teacher nodes recovered", f"{recovered:,} of {len(nodes):,} at the end (ρ > {self.threshold:g})"
            )
            yield Fact("recovered, then lost again", f"{lost:,}")
            yield Fact("students that shifted focus", f"{shifted:,} of {len(shifts):,}")
            yield Fact("shifts of focus", f"{sum(shifts):,}")
            rows = [_row(node, names) for node in nodes]
            yield from first_rows(COLUMNS, rows, SHOWN, "--json", left=frozenset(COLUMNS[-2:]))
            yield Line("Nodes are counted from 0, as in PyTorch.", "quiet")
        if document["checkpoints"] != [str(path) for path in self.checkpoints]:
            yield Line(f"Checkpoints were sorted by number: {names[0]} … {names[-1]}", "quiet")


def _row(node: dict[str, Any], names: list[str]) -> tuple[str, ...]:
    """Format the row of a teacher node."""
    when = ("–" if node[key] is None else names[node[key]] for key in ("recovered_at", "lost_at"))
    return (
        str(node["node"]),
        number(node["strength"]),
        str(node["student"]),
        f"{node['rho']:.4f}",
        str(node["followers"]),
        *when,
    )


def in_order(paths: list[Path]) -> list[Path]:
    """Sort files by their numbers if they are in alphabetical order, in which a shell puts epoch10 before epoch2.

    Args:
        paths: The files. Any other order is kept.
    """
    if [str(path) for path in paths] != sorted(str(path) for path in paths):
        return paths
    return sorted(paths, key=lambda path: [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", str(path))])


MEASUREMENT = StrengthOfNodes
