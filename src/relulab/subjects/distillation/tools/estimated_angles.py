"""The law of angles between a teacher and points, from a sample of points (T5 eq. 5.17), with a band that holds."""

import math
from functools import cached_property

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError
from relulab.subjects.distillation.instruments.angles import angle
from relulab.subjects.distillation.tools.angle_laws import RIGHT
from relulab.subjects.distillation.tools.transfer import Numbers, transfer


class EstimatedAngles:
    """An angle law known by N angles: ``share`` is theirs, ``p`` lies above the true p everywhere with ``confidence``.

    By Dvoretzky, Kiefer and Wolfowitz, with Massart's constant, P[p ≤ share + e for all θ] ≥ 1 − exp(−2Ne²) for e ≥
    √(log 2/(2N)), so e = √(log(1/(1 − confidence))/(2N)) will do. Since the band holds for all θ at once, a bound may
    choose its β by looking at the sample.

    Args:
        angles: Angles between inputs and the teacher, in radians from 0 to π/2.
        confidence: Confidence of the band, from 0.5 to below 1. With None the band is the share itself.

    >>> law = EstimatedAngles(np.linspace(0.1, 1.5, 200), confidence=0.95)
    >>> float(law.share(0.8)), round(float(law.p(0.8)), 4)
    (0.5, 0.5865)
    """

    def __init__(self, angles: Numbers, confidence: float | None = 0.95):
        a = np.sort(np.asarray(angles, dtype=float).reshape(-1))
        if not len(a):
            raise UserError("there are no angles: a sample of one point at least is needed")
        if not (np.isfinite(a).all() and a[0] >= 0 and a[-1] <= RIGHT + 1e-12):
            raise UserError(f"angles from {a[0]:g} to {a[-1]:g}: they must lie from 0 to π/2, in radians")
        if confidence is not None and not 0.5 <= confidence < 1:
            raise UserError(f"confidence {confidence}: from 0.5 to less than 1, where the band is known to hold")
        self.angles: Float64[np.ndarray, " N"] = a.clip(max=RIGHT)
        self.confidence = confidence

    def __repr__(self) -> str:
        a = self.angles
        return f"EstimatedAngles({len(a)} angles from {a[0]:.4g} to {a[-1]:.4g}, confidence={self.confidence})"

    @classmethod
    def of(cls, X: Numbers, w_star: Numbers, confidence: float | None = 0.95) -> "EstimatedAngles":
        """The law of a teacher and a sample of inputs."""
        X, w_star = transfer(X, w_star)
        zero = (~X.any(-1)).nonzero()
        if len(zero):
            raise UserError(
                f"{len(zero)} of {X.shape[-2]} points are zero, the first is row {int(zero[0, -1])}: such a point has "
                "no angle with the teacher, remove it"
            )
        return cls(angle(X, w_star).numpy(), confidence)

    @cached_property
    def band(self) -> float:
        """e, how far the band lies above the share."""
        if self.confidence is None:
            return 0.0
        return math.sqrt(-math.log(1 - self.confidence) / (2 * len(self.angles)))

    def share(self, theta: float | Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """The share of angles that are θ or more."""
        return np.asarray(1 - np.searchsorted(self.angles, theta, side="left") / len(self.angles))

    def p(self, theta: float | Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """The upper end of the band, at most 1."""
        return np.asarray(np.minimum(1.0, self.share(theta) + self.band))

    def quantile(self, u: Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """An angle of the sample: of a uniform u, each is as likely."""
        at = np.ceil(np.asarray(u, dtype=float) * len(self.angles)).astype(int)
        return self.angles[::-1][at.clip(1) - 1]

    @property
    def steps(self) -> Float64[np.ndarray, " k"]:
        """The least θ of every value of p: 0, and just beyond each angle."""
        return np.concatenate([[0.0], np.nextafter(np.unique(self.angles), 2)])

    @property
    def kappa(self) -> float:
        """The degree κ of the polynomial law that suits the sample best, by maximum likelihood (T5 corollary 5.2).

        Under p(θ) = (1 − 2θ/π)^κ the numbers −log(1 − 2a/π) are exponential of rate κ, so κ is one over their mean: 0
        if an angle is right. It describes the sample; that p lies below the polynomial it does not say.
        """
        with np.errstate(divide="ignore"):
            mean = -np.log1p(-self.angles / RIGHT).mean()
        return float(1 / mean) if mean > 0 else math.inf
