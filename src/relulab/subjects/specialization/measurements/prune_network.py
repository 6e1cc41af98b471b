"""A smaller network that does the same: hidden nodes merged and dropped, and what that changes."""

from pathlib import Path
from typing import Any, ClassVar

import torch
from matplotlib.figure import Figure
from torch import nn

from relulab.io.network import encoded, load
from relulab.lab.inputs.two_networks import points_for
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.figure import BLUE, RED, house_style, legend, panels
from relulab.lab.show.parts import Grid, Line, Part, first_rows
from relulab.lab.show.words import number
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.pruning import Pruned, prune

SHOWN = 30  # rows of a table, nodes of a group


class PruneNetwork(Measurement):
    """Merge hidden nodes that share a hyperplane, drop those that add nothing, and say what that changes."""

    name: ClassVar = "prune"
    title: ClassVar = "a two-layer network and points"
    source: ClassVar = "SS theorem 2"
    ids: ClassVar = ("SS.T2",)
    verb: ClassVar = True
    arguments: ClassVar = ("student",)
    endings: ClassVar = (".safetensors",)
    kept: ClassVar = "the smaller network"
    drawn: ClassVar = "the curve of what is lost against kept nodes"

    student: Path
    """A two-layer network: .safetensors, .npz, .pt or .pth."""
    data: Path
    """Points: .npy, .npz or .safetensors, one a row."""
    teacher: Path | None = None
    """Nodes that follow the nodes of this network stay first."""
    epsilon: float = 1e-6
    """Nodes aligned up to this are merged."""
    keep: int | None = None
    """How many nodes to keep, instead of --tolerance."""
    tolerance: float = 1e-12
    """Share of the output's variance that may be lost."""
    refit: bool = False
    """Fit the top weights of what is left."""
    slope: float | None = None
    """Slope of leaky ReLUs, which files of weights do not tell."""

    def load(self) -> tuple[Any, ...]:
        """The network, the points, and the teacher or None."""
        net = load(self.student, slope=self.slope)
        star = load(self.teacher, slope=self.slope) if self.teacher else None
        return net, points_for(self.data, net), star

    def measure(self) -> Outcome:
        net, x, star = self.load()
        found = prune(
            net, x, epsilon=self.epsilon, keep=self.keep, tolerance=self.tolerance, refit=self.refit, teacher=star
        )
        document = {
            "student": str(self.student), "data": str(self.data), "nodes": net.widths[1],
            "groups": group_rows(found, star), "kept": found.net.widths[1], "lost": found.lost,
            "largest": found.largest, "bound": found.bound,
            "curve": [{"kept": n, "lost": lost} for n, lost in found.curve],
        }  # fmt: skip
        files = {".safetensors": lambda: encoded(found.net.to(net.dtype))}
        return Outcome(document, _told(document), picture=lambda: picture(found), files=files)


def _told(document: dict[str, Any]) -> list[Part]:
    groups = document["groups"]
    aligned = "teacher" in groups[0]
    rows = []
    for row in groups:
        more = (str(row["teacher"]), number(row["epsilon"])) if aligned else ()
        nodes = ", ".join(map(str, row["nodes"][:SHOWN])) + (" …" if len(row["nodes"]) > SHOWN else "")
        rows.append(("✓" if row["kept"] else "", number(row["adds"]), *more, nodes))
    columns = ("kept", "Σ v‖w‖", *(("teacher node", "ε") if aligned else ()), "nodes of the group")
    curve = [(str(row["kept"]), number(row["lost"])) for row in document["curve"]]
    lost, largest, bound = (number(document[key]) for key in ("lost", "largest", "bound"))
    return [
        *first_rows(columns, rows, SHOWN, "--json", left=frozenset({"nodes of the group"})),
        Grid(("kept nodes", "variance lost"), curve),
        Line(
            f"{document['nodes']} nodes in {len(groups)} groups, {document['kept']} kept. Lost is {lost} of the "
            f"output's variance; outputs on the data change by at most {largest}, within their box by at most {bound} "
            "before a refit."
        ),
    ]


def group_rows(found: Pruned, teacher: nn.Module | None = None) -> list[dict[str, Any]]:
    """A row a group, the most important first: its nodes, ‖Σ v‖w‖‖, whether it stays, and the nearest teacher node."""
    groups, kept = found.groups, set(found.kept)
    strength = groups.a.norm(dim=1)
    near = alignment(lowest(teacher), groups.nodes).min(0) if teacher is not None else None
    rows = []
    order = [*found.kept, *(s for s in strength.argsort(descending=True).tolist() if s not in kept)]
    for s in order:
        row = {"nodes": (groups.of == s).nonzero()[:, 0].tolist(), "adds": float(strength[s]), "kept": s in kept}
        if near is not None:
            row |= {"teacher": int(near.indices[s]), "epsilon": float(near.values[s])}
        rows.append(row)
    return rows


def picture(found: Pruned) -> Figure:
    """The share of the output's variance that is lost against the number of nodes that are kept."""
    kept, lost = zip(*found.curve, strict=True)
    with house_style():
        figure, axes = panels(1, 1, width=3.6, height=2.6)
        ax = axes[0, 0]
        ax.plot(kept, torch.tensor(lost).clamp(min=1e-16), ".-", color=BLUE, label="groups kept, before a refit")
        ax.plot(len(found.kept), max(found.lost, 1e-16), "o", color=RED, label="the network that is left")
        ax.set(xscale="log", yscale="log", xlabel="nodes kept", ylabel="share of the variance lost")
        legend(figure, ax, columns=1)
    return figure


MEASUREMENT = PruneNetwork
