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
from relulab.subjects.specialization.tools.sphericity import (
    LEVEL,
    ROUNDING,
    bernstein,
    by_chance,
    sphericity,
    uniform_angles,
)

RESOLUTION = 0.1  # with a larger error, as a share of the push at θ = 0, the conclusion is undecided


def spherical_push(
    w: Float[Tensor, " d"], w_star: Float[Tensor, " d_"], x: Float[Tensor, "N d__"], *, as_printed: bool = False
) -> Finding:
    """Compare the closed form with the mean over the sample x, within an error that only chance 1 in 16,000 exceeds.

    The sample is tested for moments that every spherical distribution has (``sphericity``). In the plane of w and w*,
    all angles must be equally likely, weighted by ‖x‖². The test can show that a distribution is not spherical, but no
    sample can prove that it is. All bounds come from Bernstein's inequality with the variance that spherical inputs of
    the given norms have. With an error of more than 10% of the push at θ = 0, or half of the push itself, there are too
    few points and the conclusion is undecided.

    Args:
        w: Weights of the student node, (d,), d ≥ 2, not zero.
        w_star: Weights w* of the teacher node, (d,), not zero.
        x: The sample of inputs, (N, d), at least 2 points.
        as_printed: True multiplies the closed form by ‖w‖, as printed. This is the negative control.

    >>> x = torch.randn(20_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> spherical_push(torch.tensor([2.0, 0.0]), torch.tensor([1.0, 1.0]), x).verdict.name
    'HOLDS'
    """
    return _push(w, w_star, x, as_printed=as_printed)


def _push(w: Tensor, w_star: Tensor, x: Tensor, *, as_printed: bool = False, pairs: int = 1) -> Finding:
    """The finding for one of several pairs of nodes, which share the probability of an error by chance."""
    w, w_star, x = (points(t).detach().double() for t in (w, w_star, x))
    if not len(w) == len(w_star) == x.shape[1] or len(w) < 2:
        raise UserError(
            f"w has {len(w)} entries, w* {len(w_star)} and the points {x.shape[1]}: expected equal numbers, at least 2"
        )
    if not (w.norm() > 0 and w_star.norm() > 0):
        raise UserError("w or w* is zero: both must be nonzero, since the theorem uses the angle between them")
    if len(x) < 2:
        raise UserError(f"expected at least 2 points to estimate a mean and its error, got {len(x)}")
    # the theorem does not depend on scales, but fourth moments over- and underflow
    x, w_star = x / (x.abs().max() or 1.0), w_star / w_star.abs().max()
    d, s = len(w), x.square().sum(1)
    samples = x * ((x @ w >= 0) * (x @ w_star).clamp(min=0))[:, None]
    plane = torch.linalg.qr(torch.stack([w / w.norm(), w_star], 1)).Q
    conditions = [*sphericity(x, w, w_star), uniform_angles(x @ plane, s, d)]
    if d > 2:
        # Reflection at the plane does not change a spherical distribution, so this can only fail with another one.
        outside = torch.linalg.qr(torch.cat([plane, torch.eye(d, dtype=x.dtype)], 1)).Q[:, 2:d]
        says = "The plane of w and w* is a plane of symmetry: x z f* has mean zero outside it"
        spread, largest = _spread(w, w_star)
        variance = s**2 * 2 * spread / (d * (d + 2))
        conditions.append(by_chance(says, (samples @ outside).mean(0), variance, s * largest / 2))
    conclusion = _in_plane(samples @ plane, closed_form(w, w_star) @ plane, s, w, w_star, as_printed, pairs)
    return Finding(tuple(conditions), (conclusion,))


def _in_plane(
    samples: Tensor, push: Tensor, s: Tensor, w: Tensor, w_star: Tensor, as_printed: bool, pairs: int
) -> Check:
    """Compare the mean of x z f* with the push in the plane of w and w*; s is ‖x‖² of every point."""
    d, n, scale = len(w), len(s), float(w_star.norm() * s.mean()) / len(w) / 2  # the push at θ = 0
    # c = E‖x‖²/d is estimated from the same sample, so the difference is taken point by point
    gaps = samples - (push * (w.norm() if as_printed else 1)) * s[:, None] / d
    spread, largest = _spread(w, w_star)
    moment = float((s**2).mean())
    variance = moment * (8 * spread / (d * (d + 2)) - float(push @ push) / d**2)
    # Among few points, none may lie where both nodes are active. The sample's variance is then too small.
    variance = max(variance, float(gaps.var(0).sum()))
    most = float(s.max()) * (largest + float(push.norm()) / d)
    error = bernstein(variance, most, n, level=LEVEL / pairs, sides=3) / scale + ROUNDING if scale else math.nan
    gap = float(gaps.mean(0).norm()) / scale if scale else math.nan
    share = 2 * float(push.norm() / w_star.norm())
    resolution = max(min(RESOLUTION, share / 2), 10 * ROUNDING)
    says = "In the plane of w and w*, the mean of x z f* equals the closed form"
    detail = f"{differ(gap, error)}, relative to the push at θ = 0; the push itself is {number(share)}"
    if error > resolution:
        detail += f", and {n:,} points are too few for it"
    return Check(says, gap, "==", 0.0, error, resolution, detail)


def _spread(w: Tensor, w_star: Tensor) -> tuple[float, float]:
    """E‖g‖² and the largest ‖g‖ of x z f* = r² g(φ) for x = r (cos φ, sin φ) in the plane, with φ uniform.

    ‖g‖ = ‖w*‖ |cos φ| at the angles at which both nodes are active, an interval of the length π − θ that ends at π/2.
    """
    width = math.pi - float(unit_angle(w / w.norm(), w_star / w_star.norm()))
    # near θ = π the difference would lose digits
    area = width**3 / 3 if width < 1e-3 else width / 2 - math.sin(2 * width) / 4
    length = float(w_star.norm())
    return length**2 * area / (2 * math.pi), length * math.sin(min(width, math.pi / 2))


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
    pairs = len(alive_star)
    findings = [_push(alive[k], w_star, x, pairs=pairs) for w_star, k in zip(alive_star, nearest, strict=True)]
    found = zip(range(pairs), nearest.tolist(), findings, strict=True)
    conclusion = [
        replace(c, says=f"For teacher node {j} and student node {k}, {c.says[0].lower()}{c.says[1:]}")
        for j, k, f in found
        for c in f.conclusion
    ]
    worst = max(findings, key=lambda f: max(c.measured - c.bound for c in f.conditions))
    return Finding((*biases, *worst.conditions), tuple(conclusion))


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
