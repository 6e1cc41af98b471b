"""Distributions of the angle between an input and the teacher, and points that follow them (T5 5.3.2 and 5.4.1)."""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64
from scipy.special import betainc, betaincinv

from relulab.core.errors import UserError
from relulab.core.ranges import at_least

RIGHT = math.pi / 2


@runtime_checkable
class AngleLaw(Protocol):
    """A distribution of an angle a in [0, π/2]."""

    def p(self, theta: float | Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """The reverse distribution function p(θ) = P[a ≥ θ] (5.17)."""
        ...

    def quantile(self, u: Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """The angle a with p(a) = u, for u in (0, 1]; for uniform u, it has this distribution."""
        ...


@dataclass(frozen=True)
class PolynomialAngles:
    """The polynomial angle distribution p(θ) = (1 − θ/widest)^κ of T5 corollary 5.2.

    κ = 1 is the uniform distribution on [0, widest]; for larger κ, points have smaller angles to the teacher.

    Args:
        kappa: The degree κ, above 0.
        widest: The largest angle, in radians, at most π/2. Below π/2 there is a margin.

    >>> PolynomialAngles(kappa=2).p(np.array([0.0, math.pi / 4, math.pi / 2])).tolist()
    [1.0, 0.25, 0.0]
    """

    kappa: float = 1.0
    widest: float = RIGHT

    def __post_init__(self):
        if not 0 < self.kappa < math.inf:
            raise UserError(f"expected a positive finite kappa, got kappa = {self.kappa}")
        if not 0 < self.widest <= RIGHT:
            raise UserError(f"expected an angle above 0 and at most π/2 in radians, got widest = {self.widest}")

    def p(self, theta):
        return np.clip(1 - np.asarray(theta, dtype=float) / self.widest, 0, 1) ** self.kappa

    def quantile(self, u):
        return self.widest * (1 - np.asarray(u, dtype=float) ** (1 / self.kappa))


@dataclass(frozen=True)
class SphereAngles:
    """The angle distribution if x/‖x‖ is uniform on the unit sphere of R^d, as for Gaussian inputs.

    cos² a has the distribution Beta(1/2, (d − 1)/2) for every teacher. In high dimensions almost all angles are close
    to π/2, so the inputs are poorly aligned with the teacher.

    Args:
        d: Number of input dimensions, at least 2.

    >>> SphereAngles(d=2).p(np.array([0.0, math.pi / 4, math.pi / 2])).round(12).tolist()
    [1.0, 0.5, 0.0]
    """

    d: int

    def __post_init__(self):
        if self.d < 2:
            raise UserError(f"expected at least 2 dimensions, got d = {self.d}: in one dimension every angle is 0")

    def p(self, theta):
        return betainc(0.5, (self.d - 1) / 2, np.cos(np.clip(theta, 0, RIGHT)) ** 2)

    def quantile(self, u):
        return np.arccos(np.sqrt(betaincinv(0.5, (self.d - 1) / 2, np.asarray(u, dtype=float))))


@dataclass(frozen=True)
class Angular:
    """A task with a given angle distribution: points x = ν(cos a · e₁ + sin a · u) and the teacher e₁.

    The angle a follows ``law``, u is uniform on the unit vectors orthogonal to e₁, and ν ~ N(0, 1) (T5 section 5.4.1).
    The teacher ``e1`` is the first axis. Distillation does not depend on rotations, so this covers every teacher.

    Args:
        d: Number of input dimensions, at least 2.
        law: The distribution of the angle between a point and the teacher.

    >>> Angular(3, PolynomialAngles()).draw(np.random.default_rng(0), 4).shape
    (4, 3)
    """

    d: int
    law: AngleLaw

    def __post_init__(self):
        if self.d < 2:
            raise UserError(f"expected at least 2 dimensions, got d = {self.d}: in one dimension every angle is 0")

    @property
    def e1(self) -> Float64[np.ndarray, " d"]:
        """The teacher, (d,), the first axis."""
        return np.eye(1, self.d)[0]

    def draw(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        """Draw n points, one per row.

        Args:
            rng: Random generator.
            n: Number of points.
        """
        at_least(0, n=n)
        a = self.law.quantile(1 - rng.random(n))  # 1 − random() lies in (0, 1]
        nu = rng.standard_normal(n)
        u = rng.standard_normal((n, self.d - 1))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        return nu[:, None] * np.column_stack([np.cos(a), np.sin(a)[:, None] * u])
