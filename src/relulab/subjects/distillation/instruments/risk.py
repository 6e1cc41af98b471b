"""Transfer risk: the probability that student and teacher disagree (T5 eq. 5.4), counted or exact."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64
from scipy.special import betainc
from torch import Tensor

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.core.share import clopper_pearson
from relulab.core.short_repr import short_repr
from relulab.lab.instrument import instrument
from relulab.subjects.distillation.instruments.angles import signed_angle
from relulab.subjects.distillation.tools.angle_laws import RIGHT, AngleLaw
from relulab.subjects.distillation.tools.transfer import Numbers, numbers, transfer


class Risk(NamedTuple):
    """The share of points on which student and teacher disagree, and a confidence interval for the risk."""

    value: Float64[Tensor, "*students"]
    low: Float64[Tensor, "*students"]
    high: Float64[Tensor, "*students"]

    __repr__ = short_repr


@instrument(source="T5 eq. 5.4", ids=("T5.T3",))
def transfer_risk(w: Numbers, w_star: Numbers, X: Numbers, *, confidence: float = 0.95) -> Risk:
    """The transfer risk R = P[1{wᵀx ≥ 0} ≠ 1{w*ᵀx ≥ 0}] of students w, counted on points X.

    The interval is the Clopper–Pearson interval: it covers the true risk with at least the given confidence.

    Args:
        w: Students, (d,), or (…, d) for many students.
        w_star: The teacher w*, (d,), not zero.
        X: Points, (N, d), that the students were not trained on.
        confidence: Confidence of the interval, between 0 and 1.

    >>> transfer_risk([1.0, 1.0], [1.0, 0.0], [[1.0, 0.0], [1.0, -2.0], [0.0, 1.0], [-1.0, 0.0]]).value.item()
    0.25
    """
    X, w_star = transfer(X, w_star)
    w = numbers(w, "students")
    if w.shape[-1:] != w_star.shape or X.dim() != 2:
        raise UserError(
            f"students have shape {tuple(w.shape)}, but points have shape {tuple(X.shape)}: expected students (…, d) "
            "and points (N, d) with the same d"
        )
    wrong = ((w @ X.T >= 0) != (X @ w_star >= 0)).sum(-1)
    return counted(wrong, len(X), confidence=confidence)


def counted(wrong: Tensor, N: int, *, confidence: float = 0.95) -> Risk:
    """The risk of students with ``wrong`` errors in N answers, with its Clopper–Pearson interval.

    ``wrong`` may also be a sum of N error rates between 0 and 1, which vary less than single answers.
    """
    low, high = clopper_pearson(wrong.double().cpu().numpy(), N, confidence=confidence)
    return Risk(wrong.double() / N, *(torch.as_tensor(end, device=wrong.device) for end in (low, high)))


@instrument(source="T5 eq. 5.4", ids=("T5.F3", "T5.F5"))
def spherical_risk(w: Numbers, w_star: Numbers) -> Float[Tensor, "*lane"]:
    """The exact transfer risk R = α(w, w*)/π if x/‖x‖ is uniform on the sphere, as for Gaussian inputs.

    Args:
        w: Students, (…, d), none of them zero.
        w_star: The teacher w*, (d,), or one per student.

    >>> round(spherical_risk(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 0.0])).item(), 6)
    0.25
    """
    return signed_angle(w, w_star) / torch.pi


@by_cpu
def angular_risk(alpha: Numbers, law: AngleLaw, d: int) -> Float64[Tensor, "*lane"]:
    r"""The exact transfer risk of students at angles α to the teacher, for inputs with a given angle distribution.

    For x = ν(cos a · w* + sin a · u), with u uniform on the unit vectors orthogonal to w* in R^d, the student errs if
    t < −cot α cot a, where t = uᵀe is the first coordinate of a uniform point on the unit sphere of R^{d−1} and t² has
    the distribution Beta(1/2, (d − 2)/2). So

        R = E_a ½ P[t² > cot² α cot² a]   for α ≤ π/2,     R(α) = 1 − R(π − α) otherwise.

    The expectation is one integral over the quantiles u = p(a) from 0 to p(π/2 − α), computed by tanh-sinh quadrature,
    which handles singularities at the ends. Beyond p(π/2 − α) there are no errors. For an estimated distribution the
    expectation is the mean over its angles. Angles below 10⁻¹⁵ are lost in π/2 − α, so very small risks are not
    resolved for κ < 1.

    Args:
        alpha: Angles α between students and teacher, in radians from 0 to π, any shape.
        law: The distribution of the angle between an input and the teacher.
        d: Number of input dimensions, at least 2.

    >>> from relulab.subjects.distillation.tools.angle_laws import PolynomialAngles
    >>> angular_risk([0.0, np.pi / 4], PolynomialAngles(), 2).tolist()
    [0.0, 0.25]
    """
    from scipy.integrate import tanhsinh

    if d < 2:
        raise UserError(f"expected d of at least 2, got {d}: in one dimension every angle is 0")
    alpha = numbers(alpha, "angles")
    flat = alpha.reshape(-1).numpy()
    if ((flat < 0) | (flat > np.pi)).any():
        raise UserError(f"expected angles from 0 to π in radians, got {flat.min():g} to {flat.max():g}")
    acute = np.minimum(flat, np.pi - flat)
    top = law.p(RIGHT - acute)
    if hasattr(law, "angles"):  # estimated from a sample: the mean over its angles
        risk = _over(law.angles, acute, d)
    elif d == 2:  # u is ±1: half of the points at angles above π/2 − α are errors
        risk = np.where(acute > 0, top / 2, 0.0)
    else:

        def wrong(u, cot):
            c = (cot / np.tan(law.quantile(u))).clip(0, 1)
            return betainc((d - 2) / 2, 0.5, (1 - c) * (1 + c)) / 2

        cot = 1 / np.tan(acute.clip(1e-300))
        risk = np.zeros_like(acute)
        possible = top > 0
        if possible.any():
            upper, args = top[possible], (cot[possible],)
            risk[possible] = tanhsinh(wrong, np.zeros(len(upper)), upper, args=args, rtol=1e-9).integral
    return torch.from_numpy(np.where(flat <= RIGHT, risk, 1 - risk)).reshape(alpha.shape)


def _over(angles: Float64[np.ndarray, " N"], alpha: Float64[np.ndarray, " k"], d: int) -> Float64[np.ndarray, " k"]:
    """The mean probability of an error over the given angles, for students at acute angles α."""
    risk = np.zeros_like(alpha)
    for i in np.flatnonzero(alpha > 0):
        c = 1 / np.tan(alpha[i]) / np.tan(angles.clip(1e-300))
        wrong = (c < 1) / 2 if d == 2 else betainc((d - 2) / 2, 0.5, ((1 - c) * (1 + c)).clip(0, 1)) / 2
        risk[i] = np.mean(np.where(c < 1, wrong, 0.0))
    return risk
