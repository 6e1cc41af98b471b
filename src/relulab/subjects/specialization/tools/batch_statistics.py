"""What BatchNorm computes from a batch: normalized values of every unit and their scales, and rounding errors."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

EPS = torch.finfo(torch.float64).eps
SMALLEST = 1e-300
"""PyTorch refuses ε = 0 in training mode; this value does not change a variance above 10⁻²⁸⁴"""


class Statistics(NamedTuple):
    """Statistics of N samples of n units, as BatchNorm computes them in training mode.

    Args:
        normal: The normalized values f̃ = (f − μ)/s, (N, n).
        sigma: Standard deviations σ, (n,).
        s: √(σ² + ε), (n,).
        kappa: κ = ε/(σ² + ε), (n,): the share of the variance that ε makes up.
        amplified: 1 + max |f|/σ, (n,): how much rounding errors of f grow when the mean is subtracted.
    """

    normal: Float[Tensor, "N n"]
    sigma: Float[Tensor, " n"]
    s: Float[Tensor, " n"]
    kappa: Float[Tensor, " n"]
    amplified: Float[Tensor, " n"]

    @property
    def constant(self) -> Int[Tensor, " k"]:
        """Numbers of the units that have the same value at all samples, up to rounding."""
        return (~(self.amplified * 4 * len(self.normal) * EPS < 1)).nonzero()[:, 0]

    def backward_error(self, g: Float[Tensor, "N n"], c_0: Float[Tensor, " n"]) -> Float[Tensor, "N n"]:
        """Return a bound on the rounding errors of the gradient with respect to f.

        It is K ε (1 + max |f|/σ) times the same sums with absolute values, where K is the number of roundings.

        Args:
            g: Gradients with respect to the outputs of BatchNorm.
            c_0: Its weights.
        """
        f, g = self.normal.abs(), g.abs()
        sums = g + g.mean(0) + (1 + f) * ((1 + f) * g).mean(0)
        return 4 * (len(g) + 8) * EPS * self.amplified * c_0.abs() / self.s * sums


def statistics(f: Float[Tensor, "N n"], epsilon: float = 0.0) -> Statistics:
    """Compute the statistics of a batch.

    Args:
        f: Inputs of BatchNorm, (N, n); see ``samples``.
        epsilon: ε, which BatchNorm adds to the variance.

    >>> of = statistics(torch.tensor([[1.0], [3.0]]), epsilon=1.0)
    >>> of.sigma.item(), round(of.kappa.item(), 6)
    (1.0, 0.5)
    """
    centered = f - f.mean(0)
    variance = centered.square().mean(0)
    s = (variance + max(epsilon, SMALLEST)).sqrt()
    return Statistics(centered / s, variance.sqrt(), s, epsilon / s.square(), 1 + f.abs().amax(0) / variance.sqrt())


def samples(f: Float[Tensor, "N n ..."]) -> Float[Tensor, "M n"]:
    """Reshape activations to (samples, units), as BatchNorm sees them: every position of an image is a sample.

    Args:
        f: Activations, (N, n) or (N, n, …).
    """
    return f.movedim(1, -1).flatten(0, -2)
