"""Whether points can be a sample of N(0, σ² I), for theorems on Gaussian inputs."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from relulab.core.errors import UserError
from relulab.lab.theorem import Check
from relulab.nets.hooks import points
from relulab.subjects.specialization.tools.z_scores import by_chance, z_scores

TINY = 1e-12  # relative rounding of a z-score's standard error, for columns without variance


def gaussian_inputs(x: Float[Tensor, "N d"], w: Float[Tensor, "n d"]) -> tuple[float, tuple[Check, ...]]:
    """Estimate σ, and test moments that N(0, σ² I) has. The test can reject that distribution, but not prove it.

    Tested are means, mean squares and mean products of the coordinates, and the third and fourth Hermite polynomials
    along the axes and along weights of nodes. These do not change to first order in the error of σ.

    Args:
        x: The points, (N, d), at least two.
        w: Weights of nodes, one per row, (n, d).
    """
    x = points(x).detach().double()
    if x.dim() != 2 or len(x) < 2 or x.shape[1] != w.shape[1]:
        raise UserError(
            f"expected at least two points with {w.shape[1]} inputs, got shape {tuple(x.shape)}: give one row per point"
        )
    std = float(x.square().mean().sqrt())
    if not 0 < std < torch.inf:
        raise UserError("expected points that are finite and not all zero: they have no standard deviation")
    y = x / std
    N, d = y.shape
    # only the first two moments of the products are needed, so no N × d² array is stored
    products, spread = y.T @ y / N, (y**2).T @ y**2 / N
    off = ~torch.eye(d, dtype=torch.bool)
    scores = products / (((spread - products**2).clamp(min=0) / N).sqrt() + TINY)
    largest = float(scores[off].abs().max()) if d > 1 else 0.0
    size = y.square().mean(1, keepdim=True)
    along = torch.cat([y, y @ normalize(w.double(), dim=1).T], 1)
    return std, (
        z_scores("The means of all coordinates are zero", y, TINY),
        z_scores("The mean squares of all coordinates are equal", y.square() - size, TINY),
        by_chance("The mean products of different coordinates are zero", largest, d * (d - 1) // 2, N),
        z_scores("Third moments along the axes and the weights are those of a normal distribution",
                 along**3 - 3 * along, TINY),
        z_scores("Fourth moments along the axes and the weights are those of a normal distribution",
                 along**4 - 6 * along**2 + 3, TINY),
    )  # fmt: skip
