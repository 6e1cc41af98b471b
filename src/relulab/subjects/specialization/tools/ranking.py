"""Groups of nodes in the order in which pruning keeps them, and the networks that consist of the first of them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from relulab.core.followed import followed
from relulab.subjects.specialization.tools.groups import Groups
from relulab.subjects.specialization.tools.nodes import Nodes

CHUNK = 5000  # points per pass, so that memory does not grow with the data
RIDGE = 1e-12  # share of its variance added to each group, so that linearly dependent groups do no harm
SHRINK = 0.8  # eliminated groups are removed from the matrices when fewer than this share is left


@dataclass(frozen=True)
class Ranking:
    """Groups in the order in which they are kept.

    The network with the first n groups is ``constant`` + Σ_{s<n} features_s(x) ``coefficients``_s. With a refit, the
    features are the activations after Gram–Schmidt in this order, so that later groups do not change the coefficients
    of earlier ones.

    Attributes:
        order: The groups.
        nodes: Their nodes, in this order.
        coefficients: Coefficients of the features, (s, C).
        constant: Constant part of the outputs, (C,).
        mean: Mean activations that are subtracted, (s,); 0 without a refit.
        factor: Lower triangular factor of the Gram matrix, (s, s), or None without a refit.
    """

    order: Int[Tensor, " s"]
    nodes: Nodes
    coefficients: Float[Tensor, "s C"]
    constant: Float[Tensor, " C"]
    mean: Float[Tensor, " s"]
    factor: Float[Tensor, "s s"] | None

    def features(self, x: Float[Tensor, "N d"]) -> Float[Tensor, "N s"]:
        """Return the features at the points.

        Args:
            x: Points, (N, d).
        """
        f = activations(self.nodes, x) - self.mean
        return f if self.factor is None else torch.linalg.solve_triangular(self.factor, f.T, upper=False).T

    def top(self, n: int) -> tuple[Float[Tensor, "n C"], Float[Tensor, " C"]]:
        """Return the output weights and biases of the network with the first n groups.

        Args:
            n: Number of groups.
        """
        weights = self.coefficients[:n]
        if self.factor is not None:
            weights = torch.linalg.solve_triangular(self.factor[:n, :n].T, weights, upper=True)
        return weights, self.constant - self.mean[:n] @ weights


def activations(nodes: Nodes, x: Float[Tensor, "N d"]) -> Float[Tensor, "N s"]:
    """Return σ(u_sᵀx + b_s) of all nodes at the points.

    Args:
        nodes: The nodes.
        x: Points, (N, d).
    """
    return (x @ nodes.w.T + nodes.b).clamp_(min=0)


def by_contribution(grouped: Groups, x: Float[Tensor, "N d"], first: Int[Tensor, " k"]) -> Ranking:
    """Rank groups by ‖a_s‖ times the root mean square of σ(u_sᵀx + b_s), and keep their output weights.

    Args:
        grouped: The groups.
        x: Points, (N, d).
        first: Groups that come before all others.
    """
    square = x.new_zeros(len(grouped))
    for part in x.split(CHUNK):
        square = square + activations(grouped.nodes, part).square().sum(0)
    contribution = grouped.a.norm(dim=1) * (square / len(x)).sqrt()
    contribution[first] += 1 + contribution.max()
    order = contribution.argsort(descending=True, stable=True)
    nodes = Nodes(*(t[order] for t in grouped.nodes))
    return Ranking(order, nodes, grouped.a[order], grouped.c, torch.zeros_like(nodes.b), None)


def by_refit(grouped: Groups, x: Float[Tensor, "N d"], y: Float[Tensor, "N C"], first: Int[Tensor, " k"]) -> Ranking:
    """Rank groups by backward elimination: drop one after the other, each time the one that is missed least.

    A group is missed least if the least-squares fit of the outputs by the other groups is best without it. This finds
    small sets that forward selection misses, such as one group near each node of the network that the outputs come
    from.

    Args:
        grouped: The groups.
        x: Points, (N, d).
        y: Outputs to fit, (N, C).
        first: Groups that come before all others.
    """
    gram, cross, mean = _moments(grouped, x, y)
    scale = gram.diagonal().sqrt()
    scale = scale.where(scale > 0, 1)  # a group that is constant on the points has no variance to scale
    ridge = RIDGE * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    gram = gram / scale[:, None] / scale + ridge
    order = _eliminated(gram, cross / scale[:, None], first)
    factor = torch.linalg.cholesky(gram[order][:, order]) * scale[order][:, None]
    nodes = Nodes(*(t[order] for t in grouped.nodes))
    coefficients = torch.linalg.solve_triangular(factor, cross[order], upper=False)
    return Ranking(order, nodes, coefficients, y.mean(0), mean[order], factor)


def _eliminated(gram: Float[Tensor, "s s"], cross: Float[Tensor, "s C"], first: Tensor) -> Int[Tensor, " s"]:
    """Return all groups, the one that was eliminated first at the end.

    With P the inverse of the Gram matrix and β = P c the coefficients of the fit, dropping group j increases the
    squared error by ‖β_j‖²/P_jj. Then P and β change by multiples of column j of P.
    """
    P = torch.linalg.inv(gram)
    beta = P @ cross
    at = torch.arange(len(gram), device=gram.device)  # the groups that the rows of P belong to
    kept = torch.zeros(len(gram), dtype=torch.bool, device=gram.device)
    kept[first] = True
    alive, dropped = torch.ones_like(kept), []
    for left in followed(range(len(gram), 0, -1), "eliminating nodes"):
        if left < SHRINK * len(at):  # smaller matrices are faster
            P, beta, at, kept, alive = P[alive][:, alive], beta[alive], at[alive], kept[alive], alive[alive]
        open_ = alive & ~kept if (alive & ~kept).any() else alive
        j = int(torch.where(open_, beta.square().sum(1) / P.diagonal(), torch.inf).argmin())
        dropped.append(int(at[j]))
        column, pivot = P[:, j].clone(), float(P[j, j])
        beta = beta - column[:, None] * (beta[j] / pivot)
        P.addr_(column, column, alpha=-1 / pivot)
        alive[j] = False
    return torch.tensor(dropped[::-1], dtype=torch.long, device=gram.device)


def _moments(grouped: Groups, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the Gram matrix of the centered activations, their covariances with the outputs, and their means."""
    s, N = len(grouped), len(x)
    mean = sum((activations(grouped.nodes, part).sum(0) for part in x.split(CHUNK)), x.new_zeros(s)) / N
    gram, cross, center = x.new_zeros(s, s), y.new_zeros(s, y.shape[1]), y.mean(0)
    for x_, y_ in zip(x.split(CHUNK), y.split(CHUNK), strict=True):
        f = activations(grouped.nodes, x_) - mean
        gram, cross = gram + f.T @ f, cross + f.T @ (y_ - center)
    return gram, cross, mean
