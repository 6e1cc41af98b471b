"""What is measured of students on their way: loss, correlation with the teacher, and the velocity by both equations."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.correlation import correlation, rho_mean
from relulab.subjects.specialization.tools.mean_dynamics import velocity, with_weights


def along(
    net: MLP, teacher: MLP, weights: Float[Tensor, "t lane P"], x: Float[Tensor, "lane N d"]
) -> dict[str, Tensor]:
    """Return the loss, (t, lane), and the mean best correlation, (t, lane, layer), at the snapshots of a path.

    Args:
        net: Students of the shape of the path.
        teacher: The teachers, one per lane.
        weights: Their weights at every snapshot.
        x: Points of every lane, in float64.
    """
    with torch.no_grad():
        f_star = teacher.layers(x)
        losses, rhos = [], []
        for row in weights:
            f = with_weights(net, row).layers(x)
            losses.append(0.5 * (f[-1] - f_star[-1]).square().sum(-1).mean(-1))
            pairs = zip(f_star[:-1], f[:-1], strict=True)
            rhos.append(torch.stack([rho_mean(correlation(a, b)) for a, b in pairs], -1))
    return {"loss": torch.stack(losses), "rho": torch.stack(rhos)}


def compared(
    net: MLP, teacher: MLP, other: MLP, weights: Float[Tensor, "t lane P"], x: Float[Tensor, "lane N d"]
) -> dict[str, np.ndarray]:
    """Compare eq. 6 with eq. 15 along a path, in the layers of weights below the top, where they differ.

    Args:
        net: Students of the shape of the path.
        teacher: The teachers, one per lane.
        other: Other teachers, for the control.
        weights: Weights of the students at every snapshot.
        x: Points of every lane, in float64.

    Returns:
        ``cosine`` of the angle between both velocities, ``cosine_other`` with eq. 6 for the other teacher, and ``gap``,
        the norm of their difference relative to that of eq. 15; each (t, lane, layer).
    """
    found: dict[str, list] = {"cosine": [], "cosine_other": [], "gap": []}
    for row in weights:
        here = with_weights(net, row)
        rows: dict[str, list] = {name: [] for name in found}
        for lane in range(net.lanes):
            exact = velocity(teacher, here, lane, x[lane], separated=False).total[:-1]
            mean, false = (velocity(star, here, lane, x[lane], separated=True).total[:-1] for star in (teacher, other))
            rows["cosine"].append([_cosine(a, b) for a, b in zip(exact, mean, strict=True)])
            rows["cosine_other"].append([_cosine(a, b) for a, b in zip(exact, false, strict=True)])
            rows["gap"].append([float((a - b).norm() / a.norm()) for a, b in zip(exact, mean, strict=True)])
        for name, values in rows.items():
            found[name].append(values)
    return {name: np.array(values) for name, values in found.items()}


def _cosine(a: Tensor, b: Tensor) -> float:
    return float((a * b).sum() / (a.norm() * b.norm()))
