r"""T5.LD3, vectors that are close have a small angle (T5 lemma D.3).

If ‖w − v‖ ≤ ε ≤ ‖w‖/2, then cos α(w, v) ≥ 1 − 2ε/‖w‖ (D.48), and so α(w, v) ≤ √(2πε/‖w‖), because cos x ≤ 1 − x²/π on
[−π/2, π/2] (D.49). Theorem D.4 uses this to bound the risk of students that only come close to ŵ.
"""

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.instruments.angles import signed_angle
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.instruments.deep_limit import deep_limit
from relulab.subjects.distillation.tools.balanced_start import balanced_start, product
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.transfer import Numbers, numbers, transfer

ROUNDING = 16 * torch.finfo(torch.float64).eps  # of angles and of lengths relative to ‖w‖


def close_vectors(w: Numbers, v: Numbers, *, epsilon: float | None = None, linear: bool = False) -> Finding:
    """Check the bound on the angle for one pair of vectors or for many.

    Args:
        w: The vectors w, (…, d), none of them zero.
        v: Vectors close to ``w``, of the same shape, none of them zero.
        epsilon: ε, an upper bound on the distances. Default: for each pair, its distance, which is the smallest ε.
        linear: If True, check a false variant of the statement (negative control): the angle is at most ε/‖w‖.

    >>> close_vectors([3.0, 4.0], [3.0, 5.0]).verdict.name
    'HOLDS'
    """
    w, v = numbers(w, "the vectors w"), numbers(v, "the vectors v")
    if w.shape != v.shape or not w.dim() or not w.numel():
        raise UserError(
            f"expected vectors w and v of the same shape (…, d), got {tuple(w.shape)} and {tuple(v.shape)}: give one v "
            "for each w"
        )
    alpha = signed_angle(w, v)
    size = w.abs().amax(-1, keepdim=True)
    length = (w / size).norm(dim=-1)  # in units of the largest entry, so that squares do not overflow
    distance = ((w - v) / size).norm(dim=-1) / length
    given = distance if epsilon is None else epsilon / size[..., 0] / length
    return _finding(alpha, distance, given, linear)


def _finding(alpha: Tensor, distance: Tensor, epsilon: Tensor, linear: bool) -> Finding:
    """Compare all angles with their bounds; distances and ε are relative to ‖w‖."""
    count, beyond = alpha.numel(), float((distance - epsilon).max())
    pairs = "pair" if count == 1 else "pairs"
    conditions = (
        Check("The distance ‖w − v‖ is at most ε", beyond, "<=", ROUNDING,
              detail=f"in {int((distance <= epsilon + ROUNDING).sum()):,} of {count:,} {pairs}"),
        Check("ε is at most half of ‖w‖", float(epsilon.max()), "<=", 0.5 + ROUNDING,
              detail=f"ε is at most {number(float(epsilon.max()))} ‖w‖"),
    )  # fmt: skip
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    bound = epsilon if linear else (2 * math.pi * epsilon).sqrt()
    name = "ε/‖w‖" if linear else "√(2πε/‖w‖)"
    excess = alpha - bound
    k = int(excess.argmax())
    slack = float((2 * epsilon - 2 * (alpha / 2).sin() ** 2).min())
    return Finding(conditions, (
        Check(f"The angle between w and v is at most {name}", float(excess.max()), "<=", 0.0, ROUNDING,
              detail=f"at its closest, the angle is {number(float(alpha.flatten()[k]))} and the bound is "
              f"{number(float(bound.flatten()[k]))}"),
        Check("Its cosine is at least 1 − 2ε/‖w‖ (eq. D.48)", slack, ">=", 0.0, ROUNDING,
              detail=f"it is larger by at least {number(slack)}"),
    ))  # fmt: skip


def tangent(
    w: Float64[Tensor, "*pairs d"], direction: Float64[Tensor, "*pairs d"], ratio: float
) -> Float64[Tensor, "*pairs d"]:
    """The vector at distance ``ratio`` ‖w‖ from w that is turned most, by arcsin(ratio), toward a direction.

    Args:
        w: Vectors, none of them zero.
        direction: Directions in which to turn, not parallel to ``w``.
        ratio: The distance divided by ‖w‖, below 1.
    """
    length = w.norm(dim=-1, keepdim=True)
    across = direction - (direction * w).sum(-1, keepdim=True) / length**2 * w
    across = across / across.norm(dim=-1, keepdim=True)
    cos = math.sqrt(1 - ratio**2)
    return cos * (cos * w + ratio * length * across)


def _case(ratio: float, **options) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 23)
    w, direction = (torch.from_numpy(rng.standard_normal((100, 5))) for _ in range(2))
    return close_vectors(w, tangent(w, direction, ratio), **options)


def _of_transfer(X: Numbers, w_star: Numbers, *, depth: int = 2, length: float = 0.01, seed: int = 0) -> Finding:
    """Compare ŵ with the limit of a deep student whose start has ``length`` ‖ŵ‖; ε is the bound D.40."""
    X, w_star = transfer(X, w_star)
    w_hat = distilled(X, w_star).w
    start = balanced_start(X, w_star, stream(0, Role.CHANCE, seed), depth=depth, norm=length * float(w_hat.norm()))
    limit = deep_limit(X, w_star, product(start), depth)
    return close_vectors(w_hat, limit.w, epsilon=float(limit.bound))


THEOREM = Theorem(
    id="T5.LD3",
    title="Vectors that are close have a small angle",
    statement="If ‖w − v‖ ≤ ε and ε ≤ ‖w‖/2, then the angle between w and v is at most √(2πε/‖w‖).",
    symbols={
        "w": "a vector, not zero; ŵ in theorem D.4",
        "v": "a vector close to w; the approximate student in theorem D.4",
        "ε": "upper bound on the distance between w and v",
        "ŵ": "the teacher's weights, projected onto the span of the points",
    },
    in_print="The bound is of order √ε, but the largest angle is arcsin(ε/‖w‖), of order ε. On a user's points, w is "
    "ŵ, v is the limit of a deep student, and ε is the bound of eq. D.40.",
    source="T5 lemma D.3, eqs. D.45 to D.50",
    check=close_vectors,
    on={LinearTeacher: _of_transfer},
    variants=("linear",),
    demonstrations=(
        Demonstration("100 pairs in R⁵ that are turned most, ε = ‖w‖/2", Verdict.HOLDS, lambda: _case(0.5)),
        Demonstration("The same with ε = 10⁻⁶ ‖w‖", Verdict.HOLDS, lambda: _case(1e-6)),
        Demonstration("Vectors too far from each other, ε = 0.6 ‖w‖", Verdict.NOT_APPLICABLE, lambda: _case(0.6)),
        Demonstration(
            "Distances above ε",
            Verdict.NOT_APPLICABLE,
            lambda: _case(0.3, epsilon=1e-3),
        ),
        Demonstration("Negative control: at most ε/‖w‖", Verdict.REFUTED, lambda: _case(0.5, linear=True)),
    ),
)
