"""The angle distribution estimated from a sample of points (T5 eq. 5.17), with a confidence band."""

import math
from functools import cached_property

import numpy as np
from jaxtyping import Float64

from relulab.core.errors import UserError
from relulab.core.numbers import tensor
from relulab.subjects.distillation.instruments.angles import angle
from relulab.subjects.distillation.tools.angle_laws import RIGHT
from relulab.subjects.distillation.tools.transfer import Numbers, transfer


class EstimatedAngles:
    """An angle distribution estimated from N angles.

    ``share`` is the share of angles in the sample. ``p`` is the share plus a band e: with probability ``confidence``,
    it is above the true p for all θ. By the Dvoretzky–Kiefer–Wolfowitz inequality with Massart's constant,
    P[p ≤ share + e for all θ] ≥ 1 − exp(−2Ne²) for e ≥ √(log 2/(2N)), so e = √(log(1/(1 − confidence))/(2N)). Since
    the band holds for all θ at once, a bound may choose its β from the sample.

    Args:
        angles: Angles between inputs and the teacher, in radians from 0 to π/2.
        confidence: Confidence of the band, from 0.5 to below 1. If None, the band is 0.

    >>> law = EstimatedAngles(np.linspace(0.1, 1.5, 200), confidence=0.95)
    >>> float(law.share(0.8)), round(float(law.p(0.8)), 4)
    (0.5, 0.5865)
    """

    def __init__(self, angles: Numbers, confidence: float | None = 0.95):
        a = np.sort(tensor("angles", angles).detach().cpu().double().numpy().reshape(-1))
        if not len(a):
            raise UserError("expected at least one angle, got none")
        if not (np.isfinite(a).all() and a[0] >= 0 and a[-1] <= RIGHT + 1e-12):
            raise UserError(f"expected angles from 0 to π/2 in radians, got {a[0]:g} to {a[-1]:g}")
        if confidence is not None and not 0.5 <= confidence < 1:
            raise UserError(f"expected confidence from 0.5 to below 1, where the band is valid, got {confidence}")
        self.angles: Float64[np.ndarray, " N"] = a.clip(max=RIGHT)
        self.confidence = confidence

    def __repr__(self) -> str:
        a = self.angles
        return f"EstimatedAngles({len(a)} angles from {a[0]:.4g} to {a[-1]:.4g}, confidence={self.confidence})"

    @classmethod
    def of(cls, X: Numbers, w_star: Numbers, confidence: float | None = 0.95) -> "EstimatedAngles":
        """Estimate the distribution of the angle between inputs and the teacher.

        Args:
            X: The sample, (N, d), one input per row, none of them zero.
            w_star: The teacher w*, (d,), not zero.
            confidence: Confidence of the band, from 0.5 to below 1. If None, the band is 0.
        """
        X, w_star = transfer(X, w_star)
        zero = (~X.any(-1)).nonzero()
        if len(zero):
            raise UserError(
                f"{len(zero)} of {X.shape[-2]} points are zero and have no angle to the teacher (the first is row "
                f"{int(zero[0, -1])}): remove them"
            )
        return cls(angle(X, w_star).numpy(), confidence)

    @cached_property
    def band(self) -> float:
        """The width e of the band above the share."""
        if self.confidence is None:
            return 0.0
        return math.sqrt(-math.log(1 - self.confidence) / (2 * len(self.angles)))

    def share(self, theta: float | Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """The share of angles in the sample that are at least θ."""
        return np.asarray(1 - np.searchsorted(self.angles, theta, side="left") / len(self.angles))

    def p(self, theta: float | Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """The upper end of the band at θ, at most 1."""
        return np.asarray(np.minimum(1.0, self.share(theta) + self.band))

    def quantile(self, u: Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
        """An angle of the sample; for uniform u, each angle is equally likely."""
        at = np.ceil(np.asarray(u, dtype=float) * len(self.angles)).astype(int)
        return self.angles[::-1][at.clip(1) - 1]

    @property
    def steps(self) -> Float64[np.ndarray, " k"]:
        """The smallest θ for each value of p: 0, and just above each angle."""
        return np.concatenate([[0.0], np.nextafter(np.unique(self.angles), 2)])

    @property
    def kappa(self) -> float:
        """The maximum-likelihood degree κ of the polynomial distribution (T5 corollary 5.2).

        If p(θ) = (1 − 2θ/π)^κ, the numbers −log(1 − 2a/π) are exponential with rate κ, so κ is estimated by one over
        their mean. It is 0 if an angle is π/2. The fit does not imply that p is below the polynomial.
        """
        with np.errstate(divide="ignore"):
            mean = -np.log1p(-self.angles / RIGHT).mean()
        return float(1 / mean) if mean > 0 else math.inf
