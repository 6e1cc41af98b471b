r"""Whether a sample of inputs can come from a spherically symmetric distribution (S0 theorem 6).

Given the norms of the points, the directions of spherical inputs are uniform, so the variance of every statistic below
and its largest value are known. Bernstein's inequality then bounds its mean for any number of points and any
distribution of norms. A standard error from the sample would be too small whenever the sample contains none of the rare
points that contribute most.
"""

import math

import torch
from jaxtyping import Float
from scipy.special import ndtr
from torch import Tensor

from relulab.lab.show.words import number
from relulab.lab.theorem import Check

LEVEL = 2 * float(ndtr(-4.0))  # probability that a right statement fails by chance: that of 4 standard deviations
HARMONICS = 12  # number of harmonics of the angle in the plane of w and w* that are tested
ROUNDING = 1e-13  # relative to the scale of a statistic; the only error of one without variance


def bernstein(variance: float, largest: float, n: int, *, level: float, sides: int = 2) -> float:
    """The deviation of a mean of independent numbers from its expectation that is exceeded with probability ``level``.

    Solves 2 log(sides/level) = n t²/(V + M t/3) for t, with V the mean variance and M the largest deviation of one
    number. Three sides bound the length of a mean of vectors in a plane, with V the mean of their squared lengths.

    Args:
        variance: The mean V of the variances.
        largest: The largest possible deviation M of one number.
        n: Number of numbers.
        level: Probability of a larger deviation.
        sides: Factor of the probability: 2 for numbers, 3 for vectors in a plane.

    >>> round(bernstein(1.0, 0.0, 100, level=2 * math.exp(-8)), 12), bernstein(1.0, 1.0, 1, level=1e-4) > 8
    (0.4, True)
    """
    L = math.log(sides / level)
    skew = L * largest / 3
    return (skew + math.sqrt(skew**2 + 2 * L * n * variance)) / n


def sphericity(x: Float[Tensor, "N d"], w: Float[Tensor, " d"], w_star: Float[Tensor, " d"]) -> tuple[Check, ...]:
    """Test moments that every spherical distribution has: mean zero, E[xxᵀ] = (E‖x‖²/d) I, and
    E(uᵀx)⁴ = 3 E‖x‖⁴/(d(d + 2)) for unit vectors u along w, w*, their sum and difference, the first axis and the
    diagonal.

    Args:
        x: The sample of inputs, (N, d).
        w: Weights of the student node, (d,), not zero.
        w_star: Weights of the teacher node, (d,), not zero.
    """
    N, d = x.shape
    s = x.square().sum(1)
    off = ~torch.eye(d, dtype=torch.bool)
    u, u_star, axes = w / w.norm(), w_star / w_star.norm(), torch.eye(d, dtype=x.dtype)
    directions = torch.stack([u, u_star, u + u_star, u - u_star, axes[0], axes.sum(0)])
    directions = directions[directions.norm(dim=1) > 1e-6]
    along = x @ (directions / directions.norm(dim=1, keepdim=True)).T
    share = 3 / (d * (d + 2))  # E(uᵀx)⁴/‖x‖⁴
    eighth = 105 / (d * (d + 2) * (d + 4) * (d + 6)) - share**2  # variance of (uᵀx)⁴/‖x‖⁴
    fourth = f"The fourth moments along {len(directions)} directions are 3 E‖x‖⁴/(d(d + 2))"
    return (
        by_chance("The means of all coordinates are zero", x.mean(0), s / d, s.sqrt()),
        by_chance("The mean squares of all coordinates are E‖x‖²/d", (x**2 - s[:, None] / d).mean(0),
                  s**2 * (share - 1 / d**2), s * (1 - 1 / d)),
        by_chance("The mean products of different coordinates are zero", (x.T @ x / N)[off],
                  s**2 / (d * (d + 2)), s / 2, count=d * (d - 1) // 2),
        by_chance(fourth, (along**4 - share * s[:, None] ** 2).mean(0), s**4 * eighth, s**2),
    )  # fmt: skip


def uniform_angles(x: Float[Tensor, "N 2"], s: Float[Tensor, " N"], d: int) -> Check:
    """Check that r² e^{ikφ} has mean zero for k ≤ 12, in polar coordinates (r, φ) of the plane of w and w*.

    The push in this plane depends on the distribution only through these means and E r², with weights that fall as
    1/k², so a distribution that passes this test has the push of a spherical one.

    Args:
        x: Coordinates of the inputs in the plane, (N, 2).
        s: Squared norms ‖x‖² of the inputs, (N,).
        d: Number of input dimensions.
    """
    phi, square = torch.atan2(x[:, 1], x[:, 0])[:, None], x.square().sum(1, keepdim=True)
    k = torch.arange(1, HARMONICS + 1, dtype=x.dtype)
    waves = square * torch.cat([(k * phi).cos(), (k * phi).sin()], 1)
    says = f"In the plane of w and w*, ‖x‖² is spread evenly over all angles ({HARMONICS} harmonics)"
    return by_chance(says, waves.mean(0), s**2 * 4 / (d * (d + 2)), s)  # E r⁴ cos² kφ = E r⁴/2


def by_chance(
    says: str,
    means: Float[Tensor, " k"],
    variances: Float[Tensor, " N"],
    largest: Float[Tensor, " N"],
    count: int | None = None,
) -> Check:
    """Check that the largest of several means, which have the expectation zero, can be chance.

    Args:
        says: The requirement as a sentence.
        means: The means over all points, (k,).
        variances: The variance of each point's contribution, (N,), the same for all means.
        largest: The largest possible contribution of each point, (N,).
        count: Number of different means. Default: all of them.
    """
    n, variance, most = len(variances), float(variances.mean()), float(largest.max())
    one = math.sqrt(variance / n) + ROUNDING * most or 1.0
    bound = bernstein(variance, most, n, level=LEVEL / (count or max(len(means), 1))) / one + 1e-9
    z = float(means.abs().max()) / one
    detail = f"the largest z-score is {number(z)}; up to {number(bound)} can be chance"
    return Check(says, z, "<=", bound, detail=detail)
