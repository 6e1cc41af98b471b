"""What checkpoints of a student tell of its training: when each teacher node was recovered, and by whom."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Gt, Lt
from torch import Tensor, nn

from relulab.io.network import load
from relulab.lab.inputs.two_networks import points_for
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Line, Part, first_rows
from relulab.lab.show.words import number
from relulab.subjects.specialization.instruments.history import focus_shifts, history, picture

SHOWN = 30  # rows of a table
COLUMNS = ("teacher node", "strength", "student", "ρ", "followers", "recovered at")


class StrengthOfNodes(Measurement):
    """Which teacher nodes are strong, when each was recovered and by which student, and how often students shifted."""

    name: ClassVar = "strength"
    title: ClassVar = "a teacher, checkpoints of a student, and points"
    source: ClassVar = "S0 section 5.3"
    ids: ClassVar = ("S0.F6", "S0.F7")
    arguments: ClassVar = ("teacher", "checkpoints")
    drawn: ClassVar = "the best correlations over the checkpoints"

    teacher: Path
    """A network: .safetensors, .npz, .pt, .pth or .pt2."""
    checkpoints: list[Path]
    """The student's checkpoints, in the order of training."""
    data: Path
    """Points: .npy, .npz or .safetensors, one a row."""
    slope: float | None = None
    """Slope of leaky ReLUs, which files of weights do not tell."""
    threshold: Annotated[float, Gt(0), Lt(1)] = 0.95
    """Correlation from which a node counts as recovered."""

    def load(self) -> tuple[nn.Module, list[nn.Module], Tensor]:
        """The teacher, the checkpoints in the order of training, and the points."""
        nets = [load(path, slope=self.slope).double() for path in (self.teacher, *in_order(self.checkpoints))]
        return nets[0], nets[1:], points_for(self.data, *nets)

    def measure(self) -> Outcome:
        found = history(*self.load())
        layers = [
            {"layer": one.layer, "nodes": one.rows(self.threshold), "shifts": focus_shifts(one.rho).tolist()}
            for one in found
        ]
        names = [str(path) for path in in_order(self.checkpoints)]
        document = {
            "teacher": str(self.teacher), "checkpoints": names, "data": str(self.data), "threshold": self.threshold,
            "layers": layers,
        }  # fmt: skip
        return Outcome(document, list(self._told(document)), picture=lambda: picture(found, names))

    def _told(self, document: dict[str, Any]) -> Iterator[Part]:
        names = [Path(path).name for path in document["checkpoints"]]
        if document["checkpoints"] != [str(path) for path in self.checkpoints]:
            yield Line(f"checkpoints by their numbers: {names[0]} … {names[-1]}", "quiet")
        for layer in document["layers"]:
            found = sum(node["recovered_at"] is not None for node in layer["nodes"])
            yield (
                f"layer {layer['layer']}: {found} of {len(layer['nodes'])} teacher nodes recovered above "
                f"{self.threshold:g}; {sum(map(bool, layer['shifts']))} of {len(layer['shifts'])} students shifted "
                f"their focus, {sum(layer['shifts'])} times in all"
            )
            rows = []
            for row in layer["nodes"]:
                when, size = row["recovered_at"], row["strength"]
                at = "–" if when is None else f"{when + 1}: {names[when]}"
                words = (str(row["node"]), "–" if size is None else number(size), str(row["student"]))
                rows.append((*words, f"{row['rho']:.4f}", str(row["followers"]), at))
            yield from first_rows(COLUMNS, rows, SHOWN, "--json", left=frozenset({"recovered at"}))


def in_order(paths: list[Path]) -> list[Path]:
    """Files that a shell has sorted letter by letter, with epoch10 before epoch2, by their numbers; others as given."""
    natural = sorted(paths, key=lambda path: [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", str(path))])
    return paths if [str(p) for p in paths] != sorted(str(p) for p in paths) else natural


MEASUREMENT = StrengthOfNodes
