r"""S0.T6, where a teacher node pushes a student under spherical inputs (S0 theorem 6).

For inputs x with a spherically symmetric distribution in R^d, a student node with weights w, gate z = I[wᵀx ≥ 0], and
a teacher node f* = σ(w*ᵀx), both without bias, at an angle θ,

    E[x z f*] = (c / 2π) [(π − θ) w* + ‖w*‖ sin θ · w/‖w‖],    c = E‖x‖²/d   (1 for N(0, I)).

The push lies between w and w*. The gate does not feel the length of w, so ‖w‖ cannot enter: with the factor
‖w*‖‖w‖ in front of unit vectors, as printed, the equation is right for ‖w‖ = 1 only, and that reading serves here as
the negative control.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.data.inputs import Gaussian, Inputs, Uniform
from relulab.errors import UserError
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.seeds import Role, stream

SIGMAS = 4.0  # standard errors that count as agreement


def spherical_push(
    w: Float[Tensor, " d"], w_star: Float[Tensor, " d_"], x: Float[Tensor, "N d__"], *, as_printed: bool = False
) -> Finding:
    """Compares the closed form with the mean over the sample x, within 4 standard errors.

    Sphericity is tested on the sample by moments that a spherical law must share: mean zero, and the same second and
    fourth moment along the first axis and along the diagonal (1, …, 1)/√d.
    """
    w, w_star, x = (t.detach().double() for t in (w, w_star, x))
    if not len(w) == len(w_star) == x.shape[1] or len(w) < 2:
        raise UserError(f"w has {len(w)} entries, w* {len(w_star)}, the points {x.shape[1]}: equal, and at least 2")
    if not (w.norm() > 0 and w_star.norm() > 0):
        raise UserError("w and w* must not be zero: their angle is asked for")
    axis, diagonal = x[:, 0], x.sum(1) / math.sqrt(x.shape[1])
    conditions = (
        _within("largest mean of a coordinate, in standard errors", x),
        _within("second moment along the first axis less the one along the diagonal", axis**2 - diagonal**2),
        _within("fourth moment along the first axis less the one along the diagonal", axis**4 - diagonal**4),
    )
    c = x.square().sum(1).mean() / x.shape[1]
    push = closed_form(w, w_star) * (w.norm() if as_printed else 1)
    samples = x * ((x @ w >= 0) * (x @ w_star).clamp(min=0))[:, None]
    # c is estimated from the same sample, so its part of the error is taken out point by point.
    gaps = samples - push * (x.square().sum(1, keepdim=True) / x.shape[1])
    size = float((c * push).norm())
    error = SIGMAS * float(gaps.std(0).square().sum().sqrt()) / math.sqrt(len(x))
    says = "distance of the mean of x z f* from the closed form, as a share of its length"
    conclusion = Check(says, float(gaps.mean(0).norm()) / size, "==", 0.0, error / size, resolution=0.5)
    return Finding(conditions, (conclusion,))


def closed_form(w: Float[Tensor, " d"], w_star: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
    """E[x z f*] for x ~ N(0, I).

    >>> closed_form(torch.tensor([2.0, 0.0]), torch.tensor([3.0, 0.0])).tolist()
    [1.5, 0.0]
    """
    u, u_star = w / w.norm(), w_star / w_star.norm()
    # atan2 keeps its accuracy near 0 and π, where arccos does not.
    theta = 2 * torch.atan2((u - u_star).norm(), (u + u_star).norm())
    return ((math.pi - theta) * w_star + w_star.norm() * theta.sin() * u) / (2 * math.pi)


def _within(says: str, values: Float[Tensor, "N *k"]) -> Check:
    """Mean zero of every column, judged by the worst one in standard errors."""
    z = values.mean(0) / (values.std(0) / math.sqrt(len(values)))
    return Check(says, float(z.abs().max()), "<=", SIGMAS)


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
