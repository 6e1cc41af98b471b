"""Orthogonally separable data by construction: one class in the first orthant, the other in the opposite one."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled, labeled


@dataclass(frozen=True)
class OppositeOrthants:
    """The construction of IB section 5.1: Gaussian points of the first and the opposite orthant with zᵀx ≥ 0.

    With z = [1, −1, …, 1, −1] both classes lean to one side, so that w₊ is far from −w₋. A Gaussian point of the first
    orthant is the absolute value of any Gaussian point, so only zᵀx ≥ 0 has to be had by discarding.

    >>> data = OppositeOrthants(d=4).draw(np.random.default_rng(0), 10)
    >>> bool((data.X @ data.X.T * data.y * data.y[:, None] > 0).all())
    True
    """

    d: int = 20

    def __post_init__(self):
        _several(self.d)

    def draw(self, rng: np.random.Generator, n: int) -> Labeled:
        z, kept, found = (-1.0) ** np.arange(self.d), [], 0
        while found < n:
            sign = rng.choice((-1.0, 1.0), size=(n, 1))
            x = sign * np.abs(rng.standard_normal((n, self.d)))
            kept.append(x[x @ z >= 0])
            found += len(kept[-1])
        return _both(np.concatenate(kept)[:n])


@dataclass(frozen=True)
class SpanningSupports:
    r"""Opposite orthants whose support examples span R^d, which those of the paper's own data do not.

    For a positive vector u and multipliers α > 0, d points x_i = u + z_i with z_i ⟂ u and Σ α_i z_i = 0 all have the
    margin ‖u‖², and u is a positive combination of them: they are the support examples of w₊ = u/‖u‖². All further
    points of the class are s(u + z) with s > 1. The other class is made in the same way from another u, times −1.
    """

    d: int = 20
    spread: float = 0.9
    """how far z goes toward the boundary of the orthant, from 0 to 1"""

    def __post_init__(self):
        _several(self.d)
        if not 0 < self.spread < 1:
            raise UserError(f"spread {self.spread}: between 0 and 1")

    def draw(self, rng: np.random.Generator, n: int) -> Labeled:
        if n < 2 * self.d:
            raise UserError(f"{n} points: two classes with {self.d} support examples each need {2 * self.d}")
        half = n // 2
        return _both(np.concatenate([self._side(rng, n - half), -self._side(rng, half)]))

    def _side(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        u = rng.uniform(0.5, 1.5, self.d)
        alpha = rng.uniform(0.5, 1.5, self.d)
        z = rng.standard_normal((n, self.d))
        z -= np.outer(z @ u, u) / (u @ u)
        supports = z[: self.d]
        supports -= alpha @ supports / alpha.sum()
        # every x_i stays in the orthant; one factor for all supports keeps Σ α_i z_i = 0
        reach = (-z / u).max(1)
        scale = np.full(n, reach[: self.d].max())
        scale[self.d :] = reach[self.d :]
        x = u + self.spread * z / scale[:, None]
        x[self.d :] *= 1 + rng.exponential(0.5, (n - self.d, 1)) + 0.01
        return x


def _several(d: int) -> None:
    if d < 2:
        raise UserError(f"d = {d}: orthants to speak of begin at d = 2")


def _both(x: Float64[np.ndarray, "n d"]) -> Labeled:
    return labeled(x, x[:, 0] > 0)
