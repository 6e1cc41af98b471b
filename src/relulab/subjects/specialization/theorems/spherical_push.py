r"""S0.T6, the push of a teacher node on a student node under spherical inputs (S0 theorem 6).

Let the inputs x have a spherically symmetric distribution in R^d. For a student node with weights w and gate
z = I[wᵀx ≥ 0], and a teacher node f* = σ(w*ᵀx), both without bias and at an angle θ,

    E[x z f*] = (c / 2π) [(π − θ) w* + ‖w*‖ sin θ · w/‖w‖],    c = E‖x‖²/d   (1 for N(0, I)).

The push lies between w and w*. The gate does not depend on the length of w, so ‖w‖ cannot appear. As printed, with the
factor ‖w*‖‖w‖ in front of unit vectors, the equation is right only for ‖w‖ = 1. The printed form is the negative
control.
"""

import math
from copy import deepcopy
from dataclasses import replace

import torch
from jaxtyping import Float
from scipy.special import ndtr, ndtri
from torch import Tensor, nn
from torch.nn.functional import normalize

from relulab.core.angle import unit_angle
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.inputs import Gaussian, Inputs, Uniform
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import differ, number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.mlp import as_mlp

SIGMAS = 4.0  # a number agrees with its expectation within this many standard errors
RESOLUTION = 0.1  # with a larger error, as a share of the push at θ = 0, the conclusion is undecided
HARMONICS = 12  # number of harmonics of the angle in the plane of w and w* that are tested
ROUNDING = 1e-13  # relative to the push at θ = 0; the only error where x z f* has no variance


def spherical_push(
    w: Float[Tensor, " d"], w_star: Float[Tensor, " d_"], x: Float[Tensor, "N d__"], *, as_printed: bool = False
) -> Finding:
    """Compare the closed form with the mean over the sample x, within 4 standard errors.

    The sample is tested for moments that every spherical distribution has: mean zero, E[xxᵀ] = (E‖x‖²/d) I, and
    E(uᵀx)⁴ = 3 E‖x‖⁴/(d(d + 2)) for unit vectors u along w, w*, their sum and difference, the first axis and the
    diagonal. In the plane of w and w*, all angles must be equally likely, weighted by ‖x‖². Each condition uses the
    largest z-score, with a bound that grows with the number of scores. The test can show that a distribution is not
    spherical, but no sample can prove that it is.

    Args:
        w: Weights of the student node, (d,), d ≥ 2, not zero.
        w_star: Weights w* of the teacher node, (d,), not zero.
        x: The sample of inputs, (N, d), at least 2 points.
        as_printed: True multiplies the closed form by ‖w‖, as printed. This is the negative control.

    >>> x = torch.randn(20_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> spherical_push(torch.tensor([2.0, 0.0]), torch.tensor([1.0, 1.0]), x).verdict.name
    'HOLDS'
    """
    w, w_star, x = (points(t).detach().double() for t in (w, w_star, x))
    if not len(w) == len(w_star) == x.shape[1] or len(w) < 2:
        raise UserError(
            f"w has {len(w)} entries, w* {len(w_star)} and the points {x.shape[1]}: expected equal numbers, at least 2"
        )
    if not (w.norm() > 0 and w_star.norm() > 0):
        raise UserError("w or w* is zero: both must be nonzero, since the theorem uses the angle between them")
    if len(x) < 2:
        raise UserError(f"expected at least 2 points to estimate a mean and its error, got {len(x)}")
    push = closed_form(w, w_star) * (w.norm() if as_printed else 1)
    samples = x * ((x @ w >= 0) * (x @ w_star).clamp(min=0))[:, None]
    # c = E‖x‖²/d is estimated from the same sample, so the difference is taken point by point
    size = x.square().sum(1, keepdim=True) / x.shape[1]
    largest_push = w_star.norm() * size.mean() / 2  # at θ = 0
    gaps = (samples - push * size) / largest_push
    plane = torch.linalg.qr(torch.stack([w, w_star], 1)).Q
    inside = gaps @ plane
    error = SIGMAS * float(inside.var(0).sum().sqrt()) / math.sqrt(len(x)) + ROUNDING
    says = "In the plane of w and w*, the mean of x z f* equals the closed form"
    gap = float(inside.mean(0).norm())
    in_plane = Check(
        says, gap, "==", 0.0, error, RESOLUTION, f"{differ(gap, error)}, relative to the push at θ = 0"
    )  # fmt: skip
    conditions = [*_sphericity(w, w_star, x), _uniform_angles(x @ plane)]
    if x.shape[1] > 2:
        # Reflection at the plane does not change a spherical distribution, so this can only fail with another one.
        outside = torch.linalg.qr(torch.cat([plane, torch.eye(len(w), dtype=x.dtype)], 1)).Q[:, 2 : len(w)]
        says = "The plane of w and w* is a plane of symmetry: x z f* has mean zero outside it"
        conditions.append(_z_scores(says, gaps @ outside, ROUNDING))
    return Finding(tuple(conditions), (in_plane,))


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> Finding:
    """Check the push of every node of the teacher's lowest layer on the student node with the smallest angle to it.

    The theorem applies to nodes without bias.

    Args:
        teacher: One network of Linear and ReLU layers.
        student: Another one with the same inputs.
        x: The sample of inputs, (N, d), at least 2 points.
    """
    nets = [as_mlp(net).double() for net in (deepcopy(teacher), deepcopy(student))]
    if any(net.lanes > 1 for net in nets) or nets[0].widths[0] != nets[1].widths[0]:
        raise UserError(
            f"expected one teacher and one student with the same inputs, got {nets[0].lanes} and {nets[1].lanes} "
            f"networks with {nets[0].widths[0]} and {nets[1].widths[0]} inputs"
        )
    W_star, W = (net.W[0].data[0].T for net in nets)
    alive, alive_star = (weights[weights.norm(dim=1) > 0] for weights in (W, W_star))
    if not len(alive) or not len(alive_star):
        raise UserError("all nodes of a lowest layer have zero weights: expected nonzero weights, which have an angle")
    biases = [
        Check(
            f"The nodes in the lowest layer of the {name} have no bias",
            largest,
            "==",
            0.0,
            detail=f"the largest bias is {number(largest)} in absolute value",
        )
        for name, net in zip(("teacher", "student"), nets, strict=True)
        for largest in (float(net.b[0].data.abs().max()),)
    ]
    nearest = (normalize(alive_star) @ normalize(alive).T).argmax(1)
    findings = [spherical_push(alive[k], w_star, x) for w_star, k in zip(alive_star, nearest, strict=True)]
    pairs = list(zip(range(len(alive_star)), nearest.tolist(), findings, strict=True))
    conclusion = [
        replace(c, says=f"For teacher node {j} and student node {k}, {c.says[0].lower()}{c.says[1:]}")
        for j, k, f in pairs
        for c in f.conclusion
    ]
    worst = max(findings, key=lambda f: max(c.measured - c.bound for c in f.conditions))
    return Finding((*biases, *worst.conditions), tuple(conclusion))


def _sphericity(w: Tensor, w_star: Tensor, x: Tensor) -> tuple[Check, ...]:
    N, d = x.shape
    square = x.square().sum(1, keepdim=True)
    # only the first two moments of the products x_i x_j, i ≠ j, are needed, so no N × d² array is stored
    products, spread = x.T @ x / N, (x**2).T @ x**2 / N
    off = ~torch.eye(d, dtype=torch.bool)
    z = (products / ((spread - products**2).clamp(min=0) / N).sqrt())[off].abs().max()
    u, u_star, axes = w / w.norm(), w_star / w_star.norm(), torch.eye(d, dtype=x.dtype)
    directions = torch.stack([u, u_star, u + u_star, u - u_star, axes[0], axes.sum(0)])
    directions = directions[directions.norm(dim=1) > 1e-6]
    along = x @ (directions / directions.norm(dim=1, keepdim=True)).T
    fourth = f"The fourth moments along {len(directions)} directions are 3 E‖x‖⁴/(d(d + 2))"
    return (
        _z_scores("The means of all coordinates are zero", x),
        _z_scores("The mean squares of all coordinates are E‖x‖²/d", x**2 - square / d),
        _by_chance("The mean products of different coordinates are zero", float(z), d * (d - 1) // 2),
        _z_scores(fourth, along**4 - 3 * square**2 / (d * (d + 2))),
    )


def _uniform_angles(x: Float[Tensor, "N 2"]) -> Check:
    """Check that r² e^{ikφ} has mean zero for k ≤ 12, in polar coordinates (r, φ) of the plane of w and w*.

    The push in this plane depends on the distribution only through these means and E r², with weights that fall as
    1/k², so a distribution that passes this test has the push of a spherical one.
    """
    phi, square = torch.atan2(x[:, 1], x[:, 0])[:, None], x.square().sum(1, keepdim=True)
    k = torch.arange(1, HARMONICS + 1, dtype=x.dtype)
    waves = square * torch.cat([(k * phi).cos(), (k * phi).sin()], 1)
    return _z_scores(f"In the plane of w and w*, ‖x‖² is spread evenly over all angles ({HARMONICS} harmonics)", waves)


def _z_scores(says: str, values: Float[Tensor, "N k"], rounding: float = 0.0) -> Check:
    """Check that every column has mean zero, by the largest mean in standard errors."""
    z = values.mean(0) / (values.std(0) / math.sqrt(len(values)) + rounding)
    return _by_chance(says, float(z.abs().max()), values.shape[1])


def _by_chance(says: str, z: float, count: int) -> Check:
    """Check that the largest of ``count`` z-scores can be chance."""
    detail = f"the largest z-score is {number(z)}; up to {number(_bound(count))} can be chance"
    return Check(says, z, "<=", _bound(count), detail=detail)


def _bound(count: int) -> float:
    """A bound that the largest of ``count`` z-scores exceeds at most as often as one exceeds 4 (Bonferroni)."""
    return float(-ndtri(ndtr(-SIGMAS) / max(count, 1)))


def closed_form(w: Float[Tensor, " d"], w_star: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
    """E[x z f*] for x ~ N(0, I), with the factor ‖w‖ of the printed equation removed.

    Args:
        w: Weights of the student node, (d,), not zero.
        w_star: Weights w* of the teacher node, (d,), not zero.

    >>> closed_form(torch.tensor([2.0, 0.0]), torch.tensor([3.0, 0.0])).tolist()
    [1.5, 0.0]
    """
    u, u_star = w / w.norm(), w_star / w_star.norm()
    theta = unit_angle(u, u_star)
    return ((math.pi - theta) * w_star + w_star.norm() * theta.sin() * u) / (2 * math.pi)


def _case(inputs: Inputs, n: int = 200_000, **options) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 2)
    w, w_star = torch.from_numpy(rng.standard_normal((2, inputs.d)))
    return spherical_push(w * 2 / w.norm(), w_star, torch.from_numpy(inputs.draw(rng, n)), **options)


THEOREM = Theorem(
    id="S0.T6",
    title="Push of a teacher node under spherical inputs",
    statement="If the inputs x have a spherically symmetric distribution, then E[x z f*] = (c/2π) [(π − θ) w* + ‖w*‖ "
    "sin θ · w/‖w‖] with c = E‖x‖²/d. So the push of a teacher node on a student node lies between their weights w* "
    "and w.",
    symbols={
        "x": "input, a vector in R^d",
        "d": "number of inputs",
        "w": "weights of the student node, without bias",
        "w*": "weights of the teacher node, without bias",
        "z": "gate of the student node: 1 if wᵀx ≥ 0, otherwise 0",
        "f*": "output of the teacher node, max(w*ᵀx, 0)",
        "θ": "angle between w and w*",
        "c": "mean square of one coordinate of x; 1 for N(0, I)",
    },
    in_print="The printed equation has the factor ‖w*‖‖w‖ in front of unit vectors. The gate z does not depend on the "
    "length of w, so the factor must be ‖w*‖ only. The printed form is right for ‖w‖ = 1 and is the negative control.",
    source="S0 theorem 6, section 8.14",
    check=spherical_push,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration("Inputs N(0, 1.5² I) in R¹⁰, ‖w‖ = 2", Verdict.HOLDS, lambda: _case(Gaussian(10, 1.5))),
        Demonstration(
            "Inputs uniform on a cube, which is not spherical", Verdict.NOT_APPLICABLE, lambda: _case(Uniform(10))
        ),
        Demonstration("Only ten points", Verdict.INCONCLUSIVE, lambda: _case(Gaussian(10, 1.5), n=10)),
        Demonstration(
            "Negative control: the printed factor ‖w‖",
            Verdict.REFUTED,
            lambda: _case(Gaussian(10, 1.5), as_printed=True),
        ),
    ),
)
