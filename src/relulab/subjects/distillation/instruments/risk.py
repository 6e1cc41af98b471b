"""Transfer risk: how often a student's answer differs from its teacher's (T5 eq. 5.4), exact and by counting."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64
from scipy.special import betainc, betaincinv
from torch import Tensor

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.subjects.distillation.instruments.angles import signed_angle
from relulab.subjects.distillation.tools.angle_laws import RIGHT, AngleLaw
from relulab.subjects.distillation.tools.transfer import Numbers, numbers, transfer


class Risk(NamedTuple):
    """The share of points that are answered otherwise, and an interval for the probability behind it."""

    value: Float64[Tensor, "*students"]
    low: Float64[Tensor, "*students"]
    high: Float64[Tensor, "*students"]


@instrument(source="T5 eq. 5.4", ids=("T5.T3",))
def transfer_risk(w: Numbers, w_star: Numbers, X: Numbers, *, confidence: float = 0.95) -> Risk:
    """The risk R = P[1{wᵀx ≥ 0} ≠ 1{w*ᵀx ≥ 0}] of students w, counted on points X that they were not trained on.

    The interval is Clopper and Pearson's, which covers the true risk with at least this confidence, whatever it is.

    Args:
        w: Students, (d,), or (…, d) for many.
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
            f"students of shape {tuple(w.shape)} on points of shape {tuple(X.shape)}: weights and points must have as "
            "many columns, and points be one table"
        )
    wrong = ((w @ X.T >= 0) != (X @ w_star >= 0)).sum(-1)
    return counted(wrong, len(X), confidence=confidence)


def counted(wrong: Tensor, N: int, *, confidence: float = 0.95) -> Risk:
    """The risk of students of whose N answers so many were wrong.

    ``wrong`` may be a sum of N shares between 0 and 1, which vary less than answers that are right or wrong.
    """
    if not 0 < confidence < 1:
        raise UserError(f"confidence {confidence}: a number between 0 and 1 was expected, such as 0.95")
    k, tail = wrong.double().cpu().numpy(), (1 - confidence) / 2
    some, all_but = np.where(k > 0, k, 1.0), np.where(k < N, N - k, 1.0)
    low = np.where(k > 0, betaincinv(some, N - k + 1, tail), 0.0)
    high = np.where(k < N, betaincinv(k + 1, all_but, 1 - tail), 1.0)
    return Risk(wrong.double() / N, *(torch.as_tensor(end, device=wrong.device) for end in (low, high)))


@instrument(source="T5 eq. 5.4", ids=("T5.F3", "T5.F5"))
def spherical_risk(w: Numbers, w_star: Numbers) -> Float[Tensor, "*lane"]:
    """The exact risk R = α(w, w*)/π when x/‖x‖ is uniform on the sphere, as for Gaussian inputs.

    Args:
        w: Students, (…, d), none of them zero.
        w_star: The teacher w*, (d,), or one per student.

    >>> round(spherical_risk(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 0.0])).item(), 6)
    0.25
    """
    return signed_angle(w, w_star) / torch.pi


@by_cpu
def angular_risk(alpha: Numbers, law: AngleLaw, d: int) -> Float64[Tensor, "*lane"]:
    r"""The exact risk of students at angles α to the teacher when the angle of inputs has a law and their rest none.

    For x = ν(cos a · w* + sin a · u), with u uniform among unit vectors orthogonal to w* in R^d, the student errs when
    t < −cot α cot a, where t = uᵀe is the first coordinate of a uniform point on the sphere of d − 1 dimensions and
    t² has the law Beta(1/2, (d − 2)/2). So

        R = E_a ½ P[t² > cot² α cot² a]   for α ≤ π/2,     R(α) = 1 − R(π − α) beyond.

    The expectation is one integral over the quantiles u = p(a), from 0 to p(π/2 − α), beyond which there is no error;
    tanh-sinh quadrature does not mind what laws do at its ends. For an estimated law it is the mean over its angles.
    Angles below 1e-15 are lost in π/2 − α, so very small risks are not resolved for κ < 1.

    Args:
        alpha: Angles α between students and teacher, in radians from 0 to π, of any shape.
        law: The law of the angle between an input and the teacher.
        d: Number of input dimensions, at least 2.

    >>> from relulab.subjects.distillation.tools.angle_laws import PolynomialAngles
    >>> angular_risk([0.0, np.pi / 4], PolynomialAngles(), 2).tolist()
    [0.0, 0.25]
    """
    from scipy.integrate import tanhsinh

    if d < 2:
        raise UserError(f"d = {d}: angles to speak of begin at d = 2")
    alpha = numbers(alpha, "angles")
    flat = alpha.reshape(-1).numpy()
    if ((flat < 0) | (flat > np.pi)).any():
        raise UserError(f"angles from {flat.min():g} to {flat.max():g}: from 0 to π was expected, in radians")
    acute = np.minimum(flat, np.pi - flat)
    top = law.p(RIGHT - acute)
    if hasattr(law, "angles"):  # of a sample: the mean over its angles
        risk = _over(law.angles, acute, d)
    elif d == 2:  # u is ±1: every second point beyond the right angle less α
        risk = np.where(acute > 0, top / 2, 0.0)
    else:

        def wrong(u, cot):
            c = (cot / np.tan(law.quantile(u))).clip(0, 1)
            return betainc((d - 2) / 2, 0.5, (1 - c) * (1 + c)) / 2

        cot = 1 / np.tan(acute.clip(1e-300))
        risk = np.zeros_like(acute)
        some = top > 0
        if some.any():
            risk[some] = tanhsinh(wrong, np.zeros(some.sum()), top[some], args=(cot[some],), rtol=1e-9).integral
    return torch.from_numpy(np.where(flat <= RIGHT, risk, 1 - risk)).reshape(alpha.shape)


def _over(angles: Float64[np.ndarray, " N"], alpha: Float64[np.ndarray, " k"], d: int) -> Float64[np.ndarray, " k"]:
    """The mean over given angles of the chance of an error, for students at acute angles α."""
    risk = np.zeros_like(alpha)
    for i in np.flatnonzero(alpha > 0):
        c = 1 / np.tan(alpha[i]) / np.tan(angles.clip(1e-300))
        wrong = (c < 1) / 2 if d == 2 else betainc((d - 2) / 2, 0.5, ((1 - c) * (1 + c)).clip(0, 1)) / 2
        risk[i] = np.mean(np.where(c < 1, wrong, 0.0))
    return risk
