"""How closely a student's hyperplanes lie on its teacher's, node by node: the definitions of SS on two networks."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Part, first_rows
from relulab.lab.show.words import number
from relulab.lab.theorem import finite
from relulab.nets.hooks import points
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.instruments.observers import band_counts, kappa
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import creases, gradient_at, seen
from relulab.subjects.specialization.tools.groups import two_layer
from relulab.subjects.specialization.tools.nodes import lowest, regularized

SHOWN = 30  # rows of the table


class AlignmentOfNetworks(TeacherStudent, Measurement):
    """Which student's hyperplane lies on which teacher node's, how closely, and who observes it: two layers."""

    name: ClassVar = "alignment"
    source: ClassVar = "SS definitions 1 to 4"
    arguments: ClassVar = ("teacher", "student")

    band: float = 0.1
    """Distance from a boundary within which points are counted."""

    def measure(self) -> Outcome:
        found = pair_rows(*self.load(), self.band)
        document = {"teacher": str(self.teacher), "student": str(self.student), "data": str(self.data), **found}
        return Outcome(document, _told(found))


def _told(found: dict[str, Any]) -> list[Part]:
    columns = ("teacher node", "‖v*‖‖w*‖", "student", "ε", "observers", "max |α|", f"within {found['width']:g}", "κ")
    rows = [
        (
            str(row["node"]), number(row["strength"]), str(row["student"]),
            number(row["epsilon"]) + ("" if row["same_side"] else " (other side)"), str(row["observers"]),
            number(row["alpha"]), str(row["band"]), number(row["kappa"]),
        )
        for row in found["nodes"]
    ]  # fmt: skip
    last = f"largest |g_1| at the {found['points']:,} points: {number(found['gradient'])}"
    return [*first_rows(columns, rows, SHOWN, "--json"), last]


def pair_rows(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], band: float = 0.1) -> dict[str, Any]:
    """Of every teacher node, the strongest first: its nearest student and who observes it, on points and on their box.

    ``epsilon`` is the alignment error of the ``student`` nearest to it, ``same_side`` whether that looks to the same
    side; ``observers`` see its boundary on the box, with ``alpha`` = max |α_kj| among them; ``band`` counts points
    within that distance of its boundary, of which the best observer is active on a share ``kappa``.
    """
    x = points(x).double()
    if x.dim() != 2 or len(x) < x.shape[1] + 1:
        raise UserError(f"points of shape {tuple(x.shape)}: at least d + 1 rows of d entries were expected")
    found = creases(teacher, student, Box.of(x))
    if not band > 0:
        raise UserError(f"band {band}: a distance from boundaries, above 0")
    star, mine = lowest(teacher), lowest(student)
    epsilon, nearest = alignment(star, mine, either_side=True).min(1)
    oriented = alignment(star, mine).gather(1, nearest[:, None])[:, 0]
    sees, v_star = seen(found), regularized(two_layer(teacher)).W[1].data[0]
    alpha = (v_star @ found.v.T).abs()
    counts, shares = band_counts(star, x, band), kappa(star, mine, x, band)
    strength, (g, _) = v_star.norm(dim=1), gradient_at(teacher, student, x)
    rows = []
    for j in strength.argsort(descending=True).tolist():
        by = sees[found.of_star[j]] if found.of_star[j] >= 0 else torch.zeros(len(mine.b), dtype=torch.bool)
        rows.append({
            "node": j, "strength": float(strength[j]), "student": int(nearest[j]), "epsilon": finite(float(epsilon[j])),
            "same_side": bool(oriented[j] <= epsilon[j]), "observers": int(by.sum()),
            "alpha": float(alpha[j][by].max()) if by.any() else 0.0, "band": int(counts[j]),
            "kappa": float(shares[j].max()),
        })  # fmt: skip
    return {"nodes": rows, "gradient": float(g.abs().max()), "points": len(x), "width": band}


MEASUREMENT = AlignmentOfNetworks
