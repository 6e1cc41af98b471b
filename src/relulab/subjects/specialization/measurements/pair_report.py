"""How a student lies to its teacher, node by node: the definitions of SS on one pair of networks, a row a node."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.theorem import finite
from relulab.nets.hooks import points
from relulab.subjects.specialization.instruments.alignment import alignment
from relulab.subjects.specialization.instruments.observers import band_counts, kappa
from relulab.subjects.specialization.tools.box import Box
from relulab.subjects.specialization.tools.creases import creases, gradient_at, seen
from relulab.subjects.specialization.tools.groups import two_layer
from relulab.subjects.specialization.tools.nodes import lowest, regularised


def pair_rows(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], band: float = 0.1) -> dict:
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
    sees, v_star = seen(found), regularised(two_layer(teacher)).W[1].data[0]
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
