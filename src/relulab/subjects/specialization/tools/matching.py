"""One-to-one matching of the units of two networks."""

import torch
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from relulab.core.errors import UserError


def one_to_one(rho: Float[Tensor, "m n"]) -> Int[Tensor, " m"]:
    """Match every teacher node with a student of its own, such that the sum of the correlations is largest.

    Unlike the best student of each node, no student is used twice.

    Args:
        rho: Correlations of m teacher and n student nodes, (m, n), as returned by ``correlation``.

    Returns:
        The student of every teacher node; −1 for nodes that are left over because there are fewer students.

    >>> one_to_one(torch.tensor([[0.9, 0.8], [0.85, 0.1]])).tolist()
    [1, 0]
    """
    if not rho.isfinite().all():
        raise UserError(
            "expected finite correlations rho, got NaN or infinite values: use networks that did not diverge"
        )
    nodes, students = linear_sum_assignment(rho.detach().cpu().double().numpy(), maximize=True)
    partner = torch.full((len(rho),), -1, dtype=torch.long, device=rho.device)
    partner[torch.from_numpy(nodes).to(rho.device)] = torch.from_numpy(students).to(rho.device)
    return partner
