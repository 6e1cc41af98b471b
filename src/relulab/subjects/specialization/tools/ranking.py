"""Groups of nodes in the order in which pruning keeps them, and the networks that consist of the first of them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import leaky_relu_

from relulab.subjects.specialization.tools.elimination import eliminated
from relulab.subjects.specialization.tools.groups import Groups
from relulab.subjects.specialization.tools.nodes import Nodes

CHUNK = 5000  # points per pass, so that memory does not grow with the data
RIDGE = 1e-12  # share of its variance added to each group, so that linearly dependent groups do no harm


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
        slope: Slope of the leaky ReLU; 0 is the plain ReLU.
    """

    order: Int[Tensor, " s"]
    nodes: Nodes
    coefficients: Float[Tensor, "s C"]
    constant: Float[Tensor, " C"]
    mean: Float[Tensor, " s"]
    factor: Float[Tensor, "s s"] | None
    slope: float = 0.0

    def features(self, x: Float[Tensor, "N d"]) -> Float[Tensor, "N s"]:
        """Return the features at the points.

        Args:
            x: Points, (N, d).
        """
        f = activations(self.nodes, x, self.slope) - self.mean
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


def activations(nodes: Nodes, x: Float[Tensor, "N d"], slope: float) -> Float[Tensor, "N s"]:
    """Return σ(u_sᵀx + b_s) of all nodes at the points.

    Args:
        nodes: The nodes.
        x: Points, (N, d).
        slope: Slope of the leaky ReLU; 0 is the plain ReLU.
    """
    return leaky_relu_(x @ nodes.w.T + nodes.b, slope)


def by_contribution(grouped: Groups, x: Float[Tensor, "N d"], first: Int[Tensor, " k"]) -> Ranking:
    """Rank groups by ‖a_s‖ times the root mean square of σ(u_sᵀx + b_s), and keep their output weights.

    Args:
        grouped: The groups.
        x: Points, (N, d).
        first: Groups that come before all others.
    """
    square = x.new_zeros(len(grouped))
    for part in x.split(CHUNK):
        square = square + activations(grouped.nodes, part, grouped.slope).square().sum(0)
    contribution = grouped.a.norm(dim=1) * (square / len(x)).sqrt()
    contribution[first] += 1 + contribution.max()
    order = contribution.argsort(descending=True, stable=True)
    nodes = Nodes(*(t[order] for t in grouped.nodes))
    return Ranking(order, nodes, grouped.a[order], grouped.c, torch.zeros_like(nodes.b), None, grouped.slope)


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
    order = eliminated([gram], [cross / scale[:, None]], first).order
    factor = torch.linalg.cholesky(gram[order][:, order]) * scale[order][:, None]
    nodes = Nodes(*(t[order] for t in grouped.nodes))
    coefficients = torch.linalg.solve_triangular(factor, cross[order], upper=False)
    return Ranking(order, nodes, coefficients, y.mean(0), mean[order], factor, grouped.slope)


def _moments(grouped: Groups, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the Gram matrix of the centered activations, their covariances with the outputs, and their means."""
    s, N, slope = len(grouped), len(x), grouped.slope
    mean = sum((activations(grouped.nodes, part, slope).sum(0) for part in x.split(CHUNK)), x.new_zeros(s)) / N
    gram, cross, center = x.new_zeros(s, s), y.new_zeros(s, y.shape[1]), y.mean(0)
    for x_, y_ in zip(x.split(CHUNK), y.split(CHUNK), strict=True):
        f = activations(grouped.nodes, x_, slope) - mean
        gram, cross = gram + f.T @ f, cross + f.T @ (y_ - center)
    return gram, cross, mean
