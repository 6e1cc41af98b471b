"""Input distributions. Each draws float64 points with a given random generator."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from relulab.core.ranges import above, at_least


@runtime_checkable
class Inputs(Protocol):
    """A distribution of points in R^d."""

    @property
    def d(self) -> int: ...

    def draw(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        """Draw n points."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """The normal distribution N(0, std² I) in R^d.

    Args:
        d: Dimension of the points.
        std: Standard deviation of each coordinate, above 0.

    >>> Gaussian(d=3, std=1.5).draw(np.random.default_rng(0), 2).shape
    (2, 3)
    """

    d: int
    std: float = 1.0

    def __post_init__(self):
        at_least(1, d=self.d)
        above(0, std=self.std)

    def draw(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        """Draw n points.

        Args:
            rng: Random generator.
            n: Number of points.
        """
        at_least(0, n=n)
        return rng.standard_normal((n, self.d)) * self.std


@dataclass(frozen=True)
class Uniform:
    """The uniform distribution on the cube [−half, half]^d.

    Args:
        d: Dimension of the points.
        half: Half of the side length, above 0.
    """

    d: int
    half: float = 1.0

    def __post_init__(self):
        at_least(1, d=self.d)
        above(0, half=self.half)

    def draw(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        """Draw n points.

        Args:
            rng: Random generator.
            n: Number of points.
        """
        at_least(0, n=n)
        return rng.uniform(-self.half, self.half, (n, self.d))
