"""Orthogonally separable data: one class in the first orthant, the other in the opposite orthant."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.data.labeled import Labeled, labeled


@dataclass(frozen=True)
class OppositeOrthants:
    """The data of IB section 5.1: Gaussian points in the first and in the opposite orthant with zᵀx ≥ 0.

    With z = [1, −1, …, 1, −1], both classes lie to one side, so that w₊ differs from −w₋. The absolute value of a
    Gaussian point is a Gaussian point of the first orthant, so only the condition zᵀx ≥ 0 needs rejection sampling.

    Args:
        d: Number of dimensions, at least 2.

    >>> data = OppositeOrthants(d=4).draw(np.random.default_rng(0), 10)
    >>> bool((data.X @ data.X.T * data.y * data.y[:, None] > 0).all())
    True
    """

    d: int = 20

    def __post_init__(self):
        _several(self.d)

    def draw(self, rng: np.random.Generator, n: int) -> Labeled:
        """Draw n points with labels −1 and 1.

        Args:
            rng: Random generator.
            n: Number of points, at least 2.
        """
        at_least(2, n=n)
        z, kept, count = (-1.0) ** np.arange(self.d), [], 0
        while count < n:
            sign = rng.choice((-1.0, 1.0), size=(n, 1))
            x = sign * np.abs(rng.standard_normal((n, self.d)))
            kept.append(x[x @ z >= 0])
            count += len(kept[-1])
        return _both(np.concatenate(kept)[:n])


@dataclass(frozen=True)
class SpanningSupports:
    r"""Points in opposite orthants whose support examples span R^d, unlike those of the paper's data.

    Let u be a positive vector and α > 0 multipliers. The d points x_i = u + z_i with z_i ⟂ u and Σ_i α_i z_i = 0
    satisfy uᵀx_i = ‖u‖², and u is a positive combination of them, so they are the support examples of w₊ = u/‖u‖². All
    other points of the class are s(u + z) with z ⟂ u and s > 1. The other class is drawn in the same way from another
    u, and multiplied by −1.

    Args:
        d: Number of dimensions, at least 2.
        spread: How far z reaches toward the boundary of the orthant, between 0 and 1.
    """

    d: int = 20
    spread: float = 0.9

    def __post_init__(self):
        _several(self.d)
        if not 0 < self.spread < 1:
            raise UserError(f"expected a spread between 0 and 1, got {self.spread}")

    def draw(self, rng: np.random.Generator, n: int) -> Labeled:
        """Draw n points with labels −1 and 1.

        Args:
            rng: Random generator.
            n: Number of points, at least 2d.
        """
        if n < 2 * self.d:
            raise UserError(
                f"expected at least {2 * self.d} points, {self.d} support examples for each class, got {n}: draw more"
            )
        half = n // 2
        return _both(np.concatenate([self._side(rng, n - half), -self._side(rng, half)]))

    def _side(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        u = rng.uniform(0.5, 1.5, self.d)
        alpha = rng.uniform(0.5, 1.5, self.d)
        z = rng.standard_normal((n, self.d))
        z -= np.outer(z @ u, u) / (u @ u)
        supports = z[: self.d]
        supports -= alpha @ supports / alpha.sum()
        # every x_i stays in the orthant; one common factor for all support examples keeps Σ_i α_i z_i = 0
        reach = (-z / u).max(1)
        scale = np.full(n, reach[: self.d].max())
        scale[self.d :] = reach[self.d :]
        x = u + self.spread * z / scale[:, None]
        x[self.d :] *= 1 + rng.exponential(0.5, (n - self.d, 1)) + 0.01
        return x


def _several(d: int) -> None:
    if d < 2:
        raise UserError(f"expected d ≥ 2, got d = {d}: opposite orthants need at least two dimensions")


def _both(x: Float64[np.ndarray, "n d"]) -> Labeled:
    return labeled(x, x[:, 0] > 0)
