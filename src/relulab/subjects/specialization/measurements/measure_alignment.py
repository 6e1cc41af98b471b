"""Alignment of the hyperplanes of a student with those of its teacher, node by node (SS definitions 1 to 4)."""

import math
from statistics import median
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Fact, Line, Part, first_rows
from relulab.lab.show.words import number
from relulab.lab.theorem import finite
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.tools.boundary_counts import boundary_counts
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.constant_inputs import fold_constant_inputs
from relulab.subjects.specialization.tools.creases import creases, seen
from relulab.subjects.specialization.tools.groups import two_layer
from relulab.subjects.specialization.tools.nodes import Nodes, lowest, regularized

SHOWN = 30  # largest number of table rows


class AlignmentOfNetworks(TeacherStudent, Measurement):
    """Compute which student node is aligned with which teacher node, and its observers (two-layer networks)."""

    name: ClassVar = "alignment"
    source: ClassVar = "SS definitions 1 to 4"
    arguments: ClassVar = ("teacher", "student")

    band: float = 0.1
    """Count points up to this distance from the boundary of a teacher node."""

    def measure(self) -> Outcome:
        pairs = pair_rows(*self.load(), self.band)
        document = {"teacher": str(self.teacher), "student": str(self.student), "data": str(self.data), **pairs}
        return Outcome(document, _parts(pairs))


def _parts(pairs: dict[str, Any]) -> list[Part]:
    nodes = pairs["nodes"]
    errors = [math.inf if row["epsilon"] is None else row["epsilon"] for row in nodes]
    columns = ("node", "‖v*‖‖w*‖", "student", "ε", "side", "observers", "max |α|", "in band", "κ")
    rows = [
        (
            str(row["node"]), number(row["strength"]), str(row["student"]),
            number(row["epsilon"]), "same" if row["same_side"] else "opposite", str(row["observers"]),
            number(row["alpha"]), f"{row['band']:,}", number(row["kappa"]),
        )
        for row in nodes
    ]  # fmt: skip
    return [
        Fact("alignment error ε, median", number(median(errors))),
        Fact("alignment error ε, largest", number(max(errors))),
        Fact("observed teacher nodes", f"{sum(row['observers'] > 0 for row in nodes):,} of {len(nodes):,}"),
        Fact("largest |g_1|", f"{number(pairs['gradient'])} at {pairs['points']:,} points"),
        *first_rows(columns, rows, SHOWN, "--json"),
        *(Line(text, "quiet") for text in _legend(pairs["width"])),
        *([Line(_folded(pairs["constant_inputs"]), "quiet")] if pairs["constant_inputs"] else []),
    ]


def _legend(width: float) -> list[str]:
    return [
        "ε: alignment error of the student nearest to the teacher node.",
        "side: whether both are active on the same side of the hyperplane.",
        "observers: students with a gradient on the boundary: active there, or leaky; α = v_kᵀv*_j for these.",
        f"in band: points within {width:g} of the boundary.",
        "κ: the largest share of these points at which a student is active.",
    ]


def _folded(count: int) -> str:
    inputs = "1 input has" if count == 1 else f"{count:,} inputs have"
    return f"{inputs} the same value at all points: their weights were counted as biases."


def pair_rows(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], band: float = 0.1) -> dict[str, Any]:
    """Compare every teacher node with its nearest student node, and count its observers on the bounding box of x.

    Args:
        teacher: A two-layer network.
        student: A two-layer network with the same inputs and outputs.
        x: Points, (N, d), with N ≥ d + 1.
        band: Points up to this distance from the boundary of a teacher node are counted.

    Returns:
        ``nodes``, one row per teacher node, the strongest first; the largest |g_1| at the points as ``gradient``; the
        number of ``points``; ``width``, which is ``band``; and the number of ``constant_inputs``, which have the same
        value at all points. In a row, ``epsilon`` is the alignment error of the nearest ``student`` (None if infinite)
        and ``same_side`` whether it is active on the same side; ``observers`` is the number of students that observe
        the boundary in the box and ``alpha`` the largest |α_kj| among them; ``band`` is the number of points near the
        boundary and ``kappa`` the largest share of them at which a student is active.
    """
    x, nets = points(x).double(), (two_layer(teacher), two_layer(student))
    if x.dim() != 2 or x.shape[1] != nets[0].widths[0]:
        raise UserError(
            f"expected points of shape (points, inputs) with {nets[0].widths[0]} inputs, got {tuple(x.shape)}: use the "
            "inputs of the networks"
        )
    if not band > 0:
        raise UserError(f"expected a band above 0, got {band}: choose a distance from the boundaries")
    d = x.shape[1]
    if nets[0].widths[0] == nets[1].widths[0]:  # otherwise ``creases`` says what is wrong
        x, nets = fold_constant_inputs(x, *nets)
    if len(x) < x.shape[1] + 1:
        raise UserError(
            f"expected at least d + 1 = {x.shape[1] + 1} points for {x.shape[1]} inputs, got {len(x)}: use more points"
        )
    rows, gradient = _rows(nets[0], nets[1], x, band)
    return {
        "nodes": rows, "gradient": gradient, "points": len(x), "width": band, "constant_inputs": d - x.shape[1],
    }  # fmt: skip


def _rows(teacher: MLP, student: MLP, x: Float[Tensor, "N d"], band: float) -> tuple[list[dict[str, Any]], float]:
    """Return the row of every teacher node and the largest gradient at the points."""
    boundaries = creases(teacher, student, Box.of(x))
    star, students = lowest(teacher), lowest(student)
    epsilon, nearest = alignment(star, students, either_side=True).min(1)
    oriented = alignment(star, Nodes(students.w[nearest], students.b[nearest])).diagonal()
    sees, v_star = seen(boundaries), regularized(teacher).W[1].data[0]
    alpha = (v_star @ boundaries.v.T).abs()
    counts, strength = boundary_counts(teacher, student, x, band), v_star.norm(dim=1)
    share, rows = counts.kappa.amax(1), []
    for j in strength.argsort(descending=True).tolist():
        group = boundaries.of_star[j]
        observers = sees[group] if group >= 0 else torch.zeros(len(students.b), dtype=torch.bool)
        rows.append({
            "node": j, "strength": float(strength[j]), "student": int(nearest[j]), "epsilon": finite(float(epsilon[j])),
            "same_side": bool(oriented[j] <= epsilon[j]), "observers": int(observers.sum()),
            "alpha": float(alpha[j][observers].max()) if observers.any() else 0.0, "band": int(counts.band[j]),
            "kappa": float(share[j]),
        })  # fmt: skip
    return rows, counts.gradient


MEASUREMENT = AlignmentOfNetworks
