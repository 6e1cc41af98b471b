"""Pruning of a two-layer network: hidden nodes are merged and removed, and the change is reported."""

from pathlib import Path
from typing import Any, ClassVar

import torch
from matplotlib.figure import Figure
from torch import nn

from relulab.io.network import encoded, load
from relulab.lab.inputs.two_networks import points_for
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.figure import BLUE, RED, house_style, legend, panels
from relulab.lab.show.parts import Fact, Grid, Line, Part, first_rows
from relulab.lab.show.words import number
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.pruning import Pruned, prune

SHOWN = 30  # largest number of table rows, and of nodes listed per group


class PruneNetwork(Measurement):
    """Merge hidden nodes with the same hyperplane, remove those that contribute nothing, and report the change."""

    name: ClassVar = "prune"
    title: ClassVar = "a two-layer network and points"
    source: ClassVar = "SS theorem 2"
    ids: ClassVar = ("SS.T2",)
    verb: ClassVar = True
    arguments: ClassVar = ("student",)
    endings: ClassVar = (".safetensors",)
    kept: ClassVar = "the pruned network"
    drawn: ClassVar = "the share of variance lost versus the number of nodes kept"

    student: Path
    """Two-layer network: .safetensors, .npz, .pt or .pth."""
    data: Path
    """Points, one per row: .npy, .npz or .safetensors."""
    teacher: Path | None = None
    """Keep nodes that are aligned with nodes of this network first."""
    epsilon: float = 1e-6
    """Merge nodes with an alignment error up to this."""
    keep: int | None = None
    """Number of nodes to keep, instead of --tolerance."""
    tolerance: float = 1e-12
    """Largest share of the output variance that may be lost."""
    refit: bool = False
    """Refit the top weights of the pruned network."""
    slope: float | None = None
    """Negative slope of leaky ReLUs. Weight files do not contain it."""

    def load(self) -> tuple[Any, ...]:
        """Return the network, the points, and the teacher or None."""
        net = load(self.student, slope=self.slope)
        star = load(self.teacher, slope=self.slope) if self.teacher else None
        return net, points_for(self.data, net), star

    def measure(self) -> Outcome:
        net, x, star = self.load()
        pruned = prune(
            net, x, epsilon=self.epsilon, keep=self.keep, tolerance=self.tolerance, refit=self.refit, teacher=star
        )
        document = {
            "student": str(self.student), "data": str(self.data), "nodes": net.widths[1],
            "groups": group_rows(pruned, star), "kept": pruned.net.widths[1], "lost": pruned.lost,
            "largest": pruned.largest, "bound": pruned.bound,
            "curve": [{"kept": n, "lost": lost} for n, lost in pruned.curve],
        }  # fmt: skip
        files = {".safetensors": lambda: encoded(pruned.net.to(net.dtype))}
        return Outcome(document, _parts(document), picture=lambda: picture(pruned), files=files)


def _parts(document: dict[str, Any]) -> list[Part]:
    groups = document["groups"]
    with_teacher = "teacher" in groups[0]
    rows = []
    for row in groups:
        match = (str(row["teacher"]), number(row["epsilon"])) if with_teacher else ()
        nodes = ", ".join(map(str, row["nodes"][:SHOWN])) + (" …" if len(row["nodes"]) > SHOWN else "")
        rows.append(("✓" if row["kept"] else "", number(row["adds"]), *match, nodes))
    columns = ("kept", "‖Σ v‖w‖‖", *(("teacher node", "ε") if with_teacher else ()), "nodes of the group")
    curve = [(str(row["kept"]), number(row["lost"])) for row in document["curve"]]
    return [
        Fact("nodes kept", f"{document['kept']:,} of {document['nodes']:,}"),
        Fact("groups of aligned nodes", f"{len(groups):,}"),
        Fact("share of variance lost", number(document["lost"])),
        Fact("largest change of an output", f"{number(document['largest'])} on the data"),
        Fact(
            "bound on any change", f"{number(document['bound'])} within the bounding box of the data, before refitting"
        ),
        *first_rows(columns, rows, SHOWN, "--json", left=frozenset({"nodes of the group"})),
        Grid(("nodes kept", "share of variance lost"), curve),
        Line("Choose the size with --keep, or refit the top weights with --refit.", "quiet"),
    ]


def group_rows(pruned: Pruned, teacher: nn.Module | None = None) -> list[dict[str, Any]]:
    """Return one row per group of aligned nodes, the kept groups first.

    Args:
        pruned: Result of ``prune``.
        teacher: A network whose nearest node is added to every row.

    Returns:
        Rows with the ``nodes`` of the group, the norm ‖Σ v‖w‖‖ that it ``adds``, whether it is ``kept``, and with a
        teacher the nearest node ``teacher`` and its alignment error ``epsilon``.
    """
    groups, kept = pruned.groups, set(pruned.kept)
    strength = groups.a.norm(dim=1)
    nearest = alignment(lowest(teacher), groups.nodes).min(0) if teacher is not None else None
    rows = []
    order = [*pruned.kept, *(s for s in strength.argsort(descending=True).tolist() if s not in kept)]
    for s in order:
        row = {"nodes": (groups.of == s).nonzero()[:, 0].tolist(), "adds": float(strength[s]), "kept": s in kept}
        if nearest is not None:
            row |= {"teacher": int(nearest.indices[s]), "epsilon": float(nearest.values[s])}
        rows.append(row)
    return rows


def picture(pruned: Pruned) -> Figure:
    """Plot the share of the output's variance that is lost versus the number of nodes kept.

    Args:
        pruned: Result of ``prune``.
    """
    kept, lost = zip(*pruned.curve, strict=True)
    with house_style():
        figure, axes = panels(1, 1, width=3.6, height=2.6)
        ax = axes[0, 0]
        ax.plot(kept, torch.tensor(lost).clamp(min=1e-16), ".-", color=BLUE, label="before a refit")
        ax.plot(len(pruned.kept), max(pruned.lost, 1e-16), "o", color=RED, label="pruned network")
        ax.set(xscale="log", yscale="log", xlabel="number of nodes kept", ylabel="share of variance lost")
        legend(figure, ax, columns=1)
    return figure


MEASUREMENT = PruneNetwork
