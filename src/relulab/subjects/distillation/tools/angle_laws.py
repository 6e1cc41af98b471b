"""Laws of the angle between a point and a teacher, and points in R^d that follow them (T5 sections 5.3.2 and 5.4.1)."""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64
from scipy.special import betainc, betaincinv

from relulab.core.errors import UserError

RIGHT = math.pi / 2


@runtime_checkable
class AngleLaw(Protocol):
    """The law of an angle a in [0, π/2]."""

    def p(self, theta: float | Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """The reverse distribution function p(θ) = P[a ≥ θ] (5.17)."""
        ...

    def quantile(self, u: Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """The angle a with p(a) = u, for u in (0, 1]: of a uniform u it has the law."""
        ...


@dataclass(frozen=True)
class PolynomialAngles:
    """p(θ) = (1 − θ/widest)^κ: the polynomial law of T5 corollary 5.2, or, with ``widest`` < π/2, one with a margin.

    κ = 1 is the uniform law on [0, widest]; with higher κ points lie nearer to the teacher.

    >>> PolynomialAngles(kappa=2).p(np.array([0.0, math.pi / 4, math.pi / 2])).tolist()
    [1.0, 0.25, 0.0]
    """

    kappa: float = 1.0
    widest: float = RIGHT

    def __post_init__(self):
        if not 0 < self.kappa < math.inf:
            raise UserError(f"kappa = {self.kappa}: a positive number is needed, at 0 all points are at one angle")
        if not 0 < self.widest <= RIGHT:
            raise UserError(f"widest = {self.widest}: an angle up to π/2 is needed, in radians")

    def p(self, theta):
        return np.clip(1 - np.asarray(theta, dtype=float) / self.widest, 0, 1) ** self.kappa

    def quantile(self, u):
        return self.widest * (1 - np.asarray(u, dtype=float) ** (1 / self.kappa))


@dataclass(frozen=True)
class SphereAngles:
    """The law of the angle when x/‖x‖ is uniform on the sphere of R^d, as for Gaussian inputs.

    cos² a has the law Beta(1/2, (d − 1)/2), whatever the teacher. In high dimensions nearly all angles are nearly
    right: the alignment of such a task is poor.

    >>> SphereAngles(d=2).p(np.array([0.0, math.pi / 4, math.pi / 2])).round(12).tolist()
    [1.0, 0.5, 0.0]
    """

    d: int

    def __post_init__(self):
        if self.d < 2:
            raise UserError(f"d = {self.d}: in one dimension every angle is 0")

    def p(self, theta):
        return betainc(0.5, (self.d - 1) / 2, np.cos(np.clip(theta, 0, RIGHT)) ** 2)

    def quantile(self, u):
        return np.arccos(np.sqrt(betaincinv(0.5, (self.d - 1) / 2, np.asarray(u, dtype=float))))


@dataclass(frozen=True)
class Angular:
    """Points x = ν(cos a · e₁ + sin a · u): a of a law, u uniform among unit vectors orthogonal to e₁, ν ~ N(0, 1).

    The task of T5 section 5.4.1 for the teacher e₁, the first axis; ``e1`` is that teacher. As soft labels do not
    care about rotations, any other direction is this one in other coordinates.

    >>> Angular(3, PolynomialAngles()).draw(np.random.default_rng(0), 4).shape
    (4, 3)
    """

    d: int
    law: AngleLaw

    def __post_init__(self):
        if self.d < 2:
            raise UserError(f"d = {self.d}: angles to speak of begin at d = 2")

    @property
    def e1(self) -> Float64[np.ndarray, " d"]:
        return np.eye(1, self.d)[0]

    def draw(self, rng: np.random.Generator, n: int) -> Float64[np.ndarray, "n d"]:
        a = self.law.quantile(1 - rng.random(n))  # 1 − random() lies in (0, 1]
        nu = rng.standard_normal(n)
        u = rng.standard_normal((n, self.d - 1))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        return nu[:, None] * np.column_stack([np.cos(a), np.sin(a)[:, None] * u])
