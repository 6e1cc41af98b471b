"""Pruning of a two-layer network: hidden nodes are merged and removed, and the change is reported."""

from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from relulab.io.network import encoded, state_dict_bytes
from relulab.lab.inputs.network_files import NetworkFiles
from relulab.lab.inputs.with_data import WithData
from relulab.lab.measurement import Measurement, Outcome
from relulab.nets.mlp import as_mlp
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.measurements.pruning_report import parts, picture, suggested
from relulab.subjects.specialization.tools.agreement import agreement
from relulab.subjects.specialization.tools.nodes import lowest
from relulab.subjects.specialization.tools.pruning import Pruned, prune

FOLD = 5  # of five points, three select nodes and fit weights, one chooses the size, and one measures the costs
FEW = 20  # with fewer points, all do everything


class PruneNetwork(WithData, NetworkFiles, Measurement):
    """Make a two-layer network smaller: merge and select hidden nodes, refit the output weights, report the change."""

    name: ClassVar = "prune"
    title: ClassVar = "a two-layer network and points"
    source: ClassVar = "SS theorem 2"
    ids: ClassVar = ("SS.T2",)
    verb: ClassVar = True
    arguments: ClassVar = ("student",)
    endings: ClassVar = (".safetensors", ".pt")
    kept: ClassVar = "the pruned network"
    drawn: ClassVar = "what each number of nodes costs"

    student: Path
    """Two-layer network: .safetensors, .npz, .pt, .pth or .pt2."""
    teacher: Path | None = None
    """Keep nodes that are aligned with nodes of this network first."""
    epsilon: float = 1e-6
    """Merge nodes with an alignment error up to this."""
    keep: int | None = None
    """Number of nodes to keep, instead of --tolerance."""
    tolerance: float = 0.01
    """Largest share of the variance of the outputs that may be lost."""
    refit: bool = True
    """Fit the output weights of the pruned network to the old outputs. Without, they are kept."""

    def load(self) -> tuple[Any, ...]:
        """Return the network, the points, and the teacher or None."""
        net = as_mlp(self.read_network(self.student))
        return net, self.points_for(net), self.optional_network(self.teacher)

    def measure(self) -> Outcome:
        net, x, star = self.load()
        dtype = net.dtype
        labels, (fit, choose, test) = self.class_numbers(net.widths[-1]), self._split(len(x))
        pruned = prune(
            net, x[fit], epsilon=self.epsilon, keep=self.keep, tolerance=self.tolerance, refit=self.refit, teacher=star,
            choose=x[choose], test=x[test],
        )  # fmt: skip
        compared = agreement(net.double(), pruned.net, x[test], None if labels is None else labels[test])
        document = {
            "student": str(self.student), "data": str(self.data), "nodes": net.widths[1],
            "fitted": int(fit.sum()), "chosen_on": int(choose.sum()), "tested": int(test.sum()),
            "groups": group_rows(pruned, star), "kept": pruned.net.widths[1], "lost": pruned.lost,
            "agree": compared.same._asdict() if net.widths[-1] > 1 else None,
            "accuracy": [share and share._asdict() for share in (compared.accuracy_a, compared.accuracy_b)],
            "largest": pruned.largest, "bound": pruned.bound, "suggested": suggested(pruned),
            "sizes": [size._asdict() for size in pruned.sizes],
        }  # fmt: skip
        small = pruned.net.to(dtype)
        files = {".safetensors": lambda: encoded(small), ".pt": lambda: state_dict_bytes(small)}
        return Outcome(document, list(parts(document)), picture=lambda: picture(pruned), files=files)

    def _split(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return which points select nodes and fit weights, which choose the size, and which measure the costs."""
        if count < FEW:
            self.note(f"{count} points are too few to set some aside, so costs are measured on the fitted points")
            return (torch.ones(count, dtype=torch.bool),) * 3
        place = torch.arange(count) % FOLD
        return place < FOLD - 2, place == FOLD - 2, place == FOLD - 1


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


MEASUREMENT = PruneNetwork
