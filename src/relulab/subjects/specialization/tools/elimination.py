"""Backward elimination: drop nodes one by one, each time the one without which a least-squares fit is best."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.core.followed import followed

APART = 1e-8  # share of its variance added to each node while the order is found: see eliminated
SHRINK = 0.8  # eliminated nodes are removed from the matrices when fewer than this share is left


class Elimination(NamedTuple):
    """The order in which nodes are kept, and what each costs when it is dropped.

    Attributes:
        order: All nodes, the one that was eliminated first at the end.
        costs: By how much the squared error grew when each of them was eliminated, in the same order.
    """

    order: Int[Tensor, " s"]
    costs: Float[Tensor, " s"]


def eliminated(
    grams: Sequence[Float[Tensor, "s s"]],
    crosses: Sequence[Float[Tensor, "s C"]],
    first: Int[Tensor, " k"] | None = None,
) -> Elimination:
    """Eliminate all nodes of one or several least-squares fits that share their nodes.

    With P the inverse of the Gram matrix and β = P c the coefficients of a fit, dropping node j increases the squared
    error by ‖β_j‖²/P_jj. Then P and β change by multiples of column j of P. The errors of several fits are added.

    Nearly dependent nodes make P large, and the rounding errors of these changes are as large as P was at first. So
    the diagonal is raised until P is at most 10⁸, and P is computed anew whenever the matrices shrink.

    Args:
        grams: The Gram matrix of the nodes in each fit, (s, s), with a diagonal of 1.
        crosses: The products c of the nodes with the outputs that are fitted, (s, C).
        first: Nodes that are dropped after all others. Default: none.
    """
    size, device = len(grams[0]), grams[0].device
    grams = [gram + APART * torch.eye(size, dtype=gram.dtype, device=device) for gram in grams]
    P = [torch.linalg.inv(gram) for gram in grams]
    beta = [p @ cross for p, cross in zip(P, crosses, strict=True)]
    at = torch.arange(size, device=device)  # the nodes that the rows of P belong to
    kept = torch.zeros(size, dtype=torch.bool, device=device)
    if first is not None:
        kept[first] = True
    alive, dropped, costs = torch.ones_like(kept), [], []
    for left in followed(range(size, 0, -1), "eliminating nodes"):
        if left < SHRINK * len(at):  # smaller matrices are faster
            at, kept, alive = at[alive], kept[alive], alive[alive]
            P = [torch.linalg.inv(gram[at][:, at]) for gram in grams]
            beta = [p @ cross[at] for p, cross in zip(P, crosses, strict=True)]
        open_ = alive & ~kept if (alive & ~kept).any() else alive
        errors = [b.square().sum(1) / p.diagonal() for p, b in zip(P, beta, strict=True)]
        error = torch.stack(errors).sum(0)
        j = int(torch.where(open_, error, torch.inf).argmin())
        dropped.append(int(at[j]))
        costs.append(float(error[j]))
        for i, p in enumerate(P):
            column, pivot = p[:, j].clone(), float(p[j, j])
            beta[i] = beta[i] - column[:, None] * (beta[i][j] / pivot)
            p.addr_(column, column, alpha=-1 / pivot)
        alive[j] = False
    order = torch.tensor(dropped[::-1], dtype=torch.long, device=device)
    return Elimination(order, torch.tensor(costs[::-1], dtype=grams[0].dtype, device=device))
