r"""S0.T6, where a teacher node pushes a student under spherical inputs (S0 theorem 6).

For inputs x with a spherically symmetric distribution in R^d, a student node with weights w, gate z = I[wᵀx ≥ 0], and
a teacher node f* = σ(w*ᵀx), both without bias, at an angle θ,

    E[x z f*] = (c / 2π) [(π − θ) w* + ‖w*‖ sin θ · w/‖w‖],    c = E‖x‖²/d   (1 for N(0, I)).

The push lies between w and w*. The gate does not feel the length of w, so ‖w‖ cannot enter: with the factor
‖w*‖‖w‖ in front of unit vectors, as printed, the equation is right for ‖w‖ = 1 only, and that reading serves here as
the negative control.
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
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.mlp import MLP

SIGMAS = 4.0  # standard errors that count as agreement of one number with its expectation
RESOLUTION = 0.1  # the largest error, as a share of the push at θ = 0, at which the conclusion can be judged

ROUNDING = 1e-13  # of gaps measured by the push at θ = 0: where z f* is never or always 0 nothing else is left


def spherical_push(
    w: Float[Tensor, " d"], w_star: Float[Tensor, " d_"], x: Float[Tensor, "N d__"], *, as_printed: bool = False
) -> Finding:
    """Compares the closed form with the mean over the sample x, within 4 standard errors.

    Sphericity is tested on the sample by moments that every spherical law has: mean zero, E[xxᵀ] = (E‖x‖²/d) I, and
    E(uᵀx)⁴ = 3 E‖x‖⁴/(d(d + 2)) for unit vectors u, here along w, w*, their sum and difference, the first axis and the
    diagonal. Each is judged by its worst z-score, with a bound that grows with the number of scores. Such a test can
    show that a law is not spherical; that it is, no sample can prove.

    Args:
        w: Weights of the student node, (d,), d ≥ 2, not zero.
        w_star: Weights w* of the teacher node, (d,), not zero.
        x: The sample of inputs, (N, d), at least 2 points.
        as_printed: A false variant of the statement, for the negative control: the closed form times ‖w‖.

    >>> x = torch.randn(20_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> spherical_push(torch.tensor([2.0, 0.0]), torch.tensor([1.0, 1.0]), x).verdict.name
    'HOLDS'
    """
    w, w_star, x = (t.detach().double() for t in (w, w_star, x))
    if not len(w) == len(w_star) == x.shape[1] or len(w) < 2:
        raise UserError(f"w has {len(w)} entries, w* {len(w_star)}, the points {x.shape[1]}: equal, and at least 2")
    if not (w.norm() > 0 and w_star.norm() > 0):
        raise UserError("w and w* must not be zero: their angle is asked for")
    if len(x) < 2:
        raise UserError(f"{len(x)} points: a mean with its error needs at least 2")
    push = closed_form(w, w_star) * (w.norm() if as_printed else 1)
    samples = x * ((x @ w >= 0) * (x @ w_star).clamp(min=0))[:, None]
    # The scale c = E‖x‖²/d is estimated from the same sample, so its part of the error goes out point by point.
    size = x.square().sum(1, keepdim=True) / x.shape[1]
    whole = w_star.norm() * size.mean() / 2  # the length of the push at θ = 0
    gaps = (samples - push * size) / whole
    plane = torch.linalg.qr(torch.stack([w, w_star], 1)).Q
    inside = gaps @ plane
    error = SIGMAS * float(inside.var(0).sum().sqrt()) / math.sqrt(len(x)) + ROUNDING
    says = "distance, in the plane of w and w*, of the mean of x z f* from the closed form; 1 is the push at θ = 0"
    conclusion = [Check(says, float(inside.mean(0).norm()), "==", 0.0, error, RESOLUTION)]
    if x.shape[1] > 2:
        outside = torch.linalg.qr(torch.cat([plane, torch.eye(len(w), dtype=x.dtype)], 1)).Q[:, 2 : len(w)]
        conclusion.append(_z_scores("components off that plane", gaps @ outside, ROUNDING))
    return Finding(_sphericity(w, w_star, x), tuple(conclusion))


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"]) -> Finding:
    """The push of every node of the teacher's lowest layer on the student node that is nearest to it by angle.

    The theorem is about nodes without bias.
    """
    nets = [(net if isinstance(net, MLP) else MLP.of(net)).double() for net in (deepcopy(teacher), deepcopy(student))]
    if any(net.lanes > 1 for net in nets) or nets[0].widths[0] != nets[1].widths[0]:
        raise UserError("one teacher and one student with the same inputs were expected")
    W_star, W = (net.W[0].data[0].T for net in nets)
    alive, alive_star = (weights[weights.norm(dim=1) > 0] for weights in (W, W_star))
    if not len(alive) or not len(alive_star):
        raise UserError("all nodes of a lowest layer have zero weights: there is no angle to speak of")
    biases = [Check(f"largest |bias| of the {who}'s lowest layer", float(net.b[0].data.abs().max()), "==", 0.0)
              for who, net in zip(("teacher", "student"), nets, strict=True)]  # fmt: skip
    nearest = (normalize(alive_star) @ normalize(alive).T).argmax(1)
    findings = [spherical_push(alive[k], w_star, x) for w_star, k in zip(alive_star, nearest, strict=True)]
    pairs = list(zip(range(len(alive_star)), nearest.tolist(), findings, strict=True))
    conclusion = [replace(c, says=f"teacher {j} on student {k}: {c.says}") for j, k, f in pairs for c in f.conclusion]
    worst = max(findings, key=lambda f: max(c.measured - c.bound for c in f.conditions))
    return Finding((*biases, *worst.conditions), tuple(conclusion))


def _sphericity(w: Tensor, w_star: Tensor, x: Tensor) -> tuple[Check, ...]:
    N, d = x.shape
    square = x.square().sum(1, keepdim=True)
    # Of the products x_i x_j, i ≠ j, only the first two moments are needed: no N × d² array is made.
    products, spread = x.T @ x / N, (x**2).T @ x**2 / N
    off = ~torch.eye(d, dtype=torch.bool)
    z = (products / ((spread - products**2).clamp(min=0) / N).sqrt())[off].abs().max()
    u, u_star, axes = w / w.norm(), w_star / w_star.norm(), torch.eye(d, dtype=x.dtype)
    directions = torch.stack([u, u_star, u + u_star, u - u_star, axes[0], axes.sum(0)])
    directions = directions[directions.norm(dim=1) > 1e-6]
    along = x @ (directions / directions.norm(dim=1, keepdim=True)).T
    return (
        _z_scores("means of the coordinates", x),
        _z_scores("mean squares of the coordinates less E‖x‖²/d", x**2 - square / d),
        Check("mean products of two coordinates: worst z-score", float(z), "<=", _bound(d * (d - 1) // 2)),
        _z_scores(
            "fourth moments along six directions less 3 E‖x‖⁴/(d(d + 2))", along**4 - 3 * square**2 / (d * (d + 2))
        ),
    )


def _z_scores(says: str, values: Float[Tensor, "N k"], rounding: float = 0.0) -> Check:
    """Mean zero of every column, judged by the worst one in standard errors."""
    z = values.mean(0) / (values.std(0) / math.sqrt(len(values)) + rounding)
    return Check(f"{says}: worst z-score", float(z.abs().max()), "<=", _bound(values.shape[1]))


def _bound(count: int) -> float:
    """The z-score that the worst of ``count`` exceeds no more often than one exceeds 4 (Bonferroni)."""
    return float(-ndtri(ndtr(-SIGMAS) / max(count, 1)))


def closed_form(w: Float[Tensor, " d"], w_star: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
    """E[x z f*] for x ~ N(0, I).

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
    title="A teacher node's push under spherical inputs",
    statement="For spherical inputs, E[x z f*] = (E‖x‖²/d) / 2π · [(π − θ) w* + ‖w*‖ sin θ w/‖w‖]: the push "
    "on a student node lies between its own weights w and the teacher's w*.",
    source="S0 theorem 6, section 8.14",
    check=spherical_push,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration("N(0, 1.5² I) in R¹⁰, ‖w‖ = 2", Verdict.HOLDS, lambda: _case(Gaussian(10, 1.5))),
        Demonstration("inputs uniform on a cube: not spherical", Verdict.NOT_APPLICABLE, lambda: _case(Uniform(10))),
        Demonstration("ten points only", Verdict.INCONCLUSIVE, lambda: _case(Gaussian(10, 1.5), n=10)),
        Demonstration(
            "negative control: the factor ‖w‖ as printed",
            Verdict.REFUTED,
            lambda: _case(Gaussian(10, 1.5), as_printed=True),
        ),
    ),
)
