r"""T5.T1.rate, the loss falls exponentially (T5 theorem D.3, corollary D.1, and eqs. D.20, D.21 and D.25).

On the sublevel set {w : ℓ₁(w) ≤ ℓ(0)} there are constants κ, μ > 0, computed by ``sublevel_convexity``, with

    κ ℓ₁(w) ≤ ‖∇ℓ₁(w)‖²   (D.14),     ‖P_X w − ŵ‖² ≤ 2 ℓ₁(w)/μ   (D.21).

The curvature μ₂ of D.6 gives κ = 2μ₂. The slope μ₁ of the gradient gives κ = μ₁, because the loss is convex:
ℓ₁(w) ≤ ∇ℓ₁(w)ᵀ(P_X w − ŵ) ≤ ‖∇ℓ₁(w)‖²/μ₁. The larger one is used.

For one layer ℓ' = −‖∇ℓ₁‖² ≤ −κℓ, hence ℓ(t) ≤ ℓ(0) e^{−ct} with c = κ. For L balanced layers with ℓ(0) < ℓ₁(0), the
speed has a factor ‖w‖^{2(L−1)/L} ≥ δ^{2(L−1)/L} (D.25), where δ is the distance of the sublevel set from zero. The loss
is convex, so δ ≥ (ℓ₁(0) − ℓ(0))/‖∇ℓ₁(0)‖, and this number is used for δ.
"""

import math

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.trajectory import Trajectory
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.theorems.shallow_student import NEAR, case, orthogonal
from relulab.subjects.distillation.tools.distillation_loss import gain, gradient, hessian, loss
from relulab.subjects.distillation.tools.general_position import general_position
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.span import span
from relulab.subjects.distillation.tools.sublevel_convexity import sublevel_convexity
from relulab.subjects.distillation.tools.transfer import Numbers, Transfer, near_one, transfer

VISIBLE = 1e-280  # a loss below has lost digits to underflow
ROUNDING = 1e-9  # of the ratios of D.14 and D.21, which are computed from logits that the flow resolves to 1e-8
CLEAR = 0.05  # largest error of log ℓ(t) at which a time is compared with the bound


def loss_rate(
    X: Numbers,
    w_star: Numbers,
    *,
    depth: int = 1,
    length: float = 0.1,
    start: Numbers | None = None,
    seed: int = 0,
    steps: int = 2000,
    steepest: bool = False,
) -> Finding:
    """Follow the flow, compute c, and compare the loss with ℓ(0) e^{−ct} at every recorded time.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        depth: Number of layers L. With several layers, the vector w(0) represents any balanced matrices.
        length: ‖w(0)‖/‖ŵ‖ of the random start of a deep student, above 0.
        start: w(0), (d,). Default: zero for one layer, otherwise a random start that is better than zero.
        seed: Seed of the random start.
        steps: Maximum number of solver steps.
        steepest: If True, check a false variant of the statement (negative control): κ is twice the largest curvature
            at the minimum.

    >>> loss_rate([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [1.0, -1.0, 2.0]).verdict.name
    'HOLDS'
    """
    given, unit = near_one(transfer(X, w_star))
    if given.X.dim() != 2 or depth < 1:
        raise UserError(
            f"expected one set of points, (n, d), and depth ≥ 1, got shape {tuple(given.X.shape)} and depth = {depth}"
        )
    w_hat = distilled(*given).w
    if orthogonal(w_hat, given.w_star):
        raise UserError("the teacher is orthogonal to all points, up to rounding, so the loss is 0: add other points")
    if start is None and depth > 1:
        start = _better(given, length * float(w_hat.norm()), seed)
    elif start is not None:
        start = transfer(given.X, start).w_star * unit
    w_0 = start if start is not None else torch.zeros_like(w_hat)
    better = float(gain(*given, w_0))
    conditions: tuple[Check, ...] = (general_position(given.X),)
    if depth > 1:
        detail = f"its loss minus that of zero weights, ℓ₁(w(0)) − ℓ₁(0), is {number(better)}, must be negative"
        conditions += (Check("The start is better than zero (eq. 5.12)", better, "<=", 0.0, detail=detail),)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    path = distillation_flow(*given, start if start is None else w_0, depth=depth, steps=steps)
    convexity = sublevel_convexity(*given, float(path["loss"][0]))
    kappa, mu = max(2 * convexity.curvature, convexity.slope), max(convexity.curvature, convexity.growth)
    if steepest:
        kappa = 2 * float(torch.linalg.eigvalsh(hessian(given.X, w_hat))[-1])
    delta = -better / float(gradient(*given, torch.zeros_like(w_hat)).norm()) if depth > 1 else 1.0
    c = kappa * delta ** (2 - 2 / depth)
    return Finding(
        conditions, (_below(given, path, c, float(np.power(unit, 2 / depth))), *_along(given, path, kappa, mu, unit))
    )


def _below(given: Transfer, path: Trajectory[Tensor], c: float, rate: float) -> Check:
    """The loss stays below ℓ(0) e^{−ct} at every recorded time at which the solver resolves it.

    In words, c and times have the units of the given points: c is multiplied by ``rate`` and t divided by it.
    """
    within, t = span(given.X), path.times
    apart = within.projected(path["w"] - given.w_star).norm(dim=-1)
    allowed = 2 * NEAR * apart[0] / apart  # the solver's error of log ℓ, twice that of the distance from ŵ
    seen = (t > 0) & (allowed <= CLEAR)
    says = f"ℓ(t) ≤ ℓ(0) e^{{−ct}} with c = {number(c * rate)} at every recorded time"
    falls = c * float(t[seen].max()) if seen.any() else 0.0
    if not falls > 100 * NEAR:
        return Check(says, math.nan, "<=", 0.0, detail="unknown, because the bound does not fall in the recorded time")
    excess = (path["loss"] / path["loss"][0]).log() + c * t
    worst = float((excess - allowed)[seen].max())
    k = int((excess / t)[seen].argmax())
    fastest = float(-(path["loss"] / path["loss"][0]).log()[seen][k] / t[seen][k])
    detail = (
        f"at {int(seen.sum())} times up to {number(float(t[seen].max() / rate))}, where the bound has fallen to "
        f"{number(math.exp(-falls))} ℓ(0); the largest c that fits them all is {number(fastest * rate)}"
    )
    return Check(says, worst, "<=", 0.0, detail=detail)


def _along(given: Transfer, path: Trajectory[Tensor], kappa: float, mu: float, unit: float) -> tuple[Check, Check]:
    """D.14 and D.21 at every snapshot with a loss that float64 resolves.

    All sides are computed from the recorded w. The loss of the solver's own state is more accurate than w − w* is.
    """
    w = path["w"]
    losses = loss(given.X, given.w_star, w)
    w, losses = w[losses > VISIBLE], losses[losses > VISIBLE]
    lengths = _lengths(torch.stack([gradient(*given, row) for row in w])) if len(w) else losses
    apart = _lengths(span(given.X).projected(w - given.w_star))
    # roots of both sides: squares would underflow
    polyak = float((math.sqrt(kappa) * losses.sqrt() / lengths).max()) ** 2 if kappa > 0 and len(w) else math.nan
    near = float((math.sqrt(mu / 2) * apart / losses.sqrt()).max()) ** 2 if mu > 0 and len(w) else math.nan
    unseen = "" if len(w) else "unknown, because the loss is too small for float64"
    at_most = [f"= {number(x * unit**2)}; the left side is at most {number(y)} times the right side"
               for x, y in ((kappa, polyak), (mu, near))]  # fmt: skip
    return (
        Check("κ ℓ₁(w) ≤ ‖∇ℓ₁(w)‖² on the path (eq. D.14)", polyak, "<=", 1 + ROUNDING,
              detail=unseen or f"κ {at_most[0]}"),
        Check("‖P_X w − ŵ‖² ≤ 2 ℓ₁(w)/μ on the path (eq. D.21)", near, "<=", 1 + ROUNDING,
              detail=unseen or f"μ {at_most[1]}"),
    )  # fmt: skip


def _lengths(vectors: Float64[Tensor, "looks d"]) -> Float64[Tensor, " looks"]:
    """Norms without underflow of the squares."""
    size = vectors.abs().amax(-1).clamp(min=torch.finfo(vectors.dtype).tiny)
    return size * (vectors / size[:, None]).norm(dim=-1)


def _better(given: Transfer, length: float, seed: int) -> Tensor:
    """A random start of the given length; of w(0) and −w(0), the one with the smaller loss."""
    if not 0 < length < math.inf:
        raise UserError(f"expected a positive length of the start, got ‖w(0)‖ = {length}")
    w = torch.from_numpy(stream(0, Role.CHANCE, seed).standard_normal(len(given.w_star)))
    w = w / w.norm() * length
    return -w if gain(*given, w) > gain(*given, -w) else w


def _case(n: int, **options) -> Finding:
    """Points in R⁸ whose labels are soft, from 0.1 to 0.9, so that the bound falls visibly."""
    X, w_star = case(n, 8, 14)
    return loss_rate(X, w_star / 4, **options)


def _of_transfer(
    X: Numbers, w_star: Numbers, *, depth: int = 1, length: float = 0.1, seed: int = 0, steps: int = 2000
) -> Finding:
    return loss_rate(X, w_star, depth=depth, length=length, seed=seed, steps=steps)


THEOREM = Theorem(
    id="T5.T1.rate",
    ids=("T5.D3", "T5.CD1"),
    title="The distillation loss falls exponentially",
    statement="Train a linear student by gradient flow on points in general position. On the set of all w with "
    "ℓ₁(w) ≤ ℓ(0), the loss satisfies κ ℓ₁(w) ≤ ‖∇ℓ₁(w)‖² and ‖P_X w − ŵ‖² ≤ 2 ℓ₁(w)/μ, with constants κ and μ above "
    "0. So ℓ(t) ≤ ℓ(0) e^{−ct} with c = κ. For L > 1 balanced layers that start better than zero, c = κ δ^{2(L−1)/L}.",
    symbols={
        "w": "weights of the student, the product of its layers; w(0) at the start",
        "ℓ₁": "the distillation loss, as a function of w (eq. 5.1)",
        "ℓ(t)": "the loss at time t of the gradient flow",
        "κ": "the larger of twice the least curvature of the loss on this set and the least slope of its gradient",
        "μ": "the least growth of the loss with the distance from ŵ on this set",
        "c": "rate at which the bound falls",
        "L": "number of layers",
        "ℓ'": "time derivative of the loss",
        "n": "number of points",
        "λ_max": "a largest eigenvalue in the proof",
        "δ": "lower bound on ‖w(t)‖: (ℓ₁(0) − ℓ(0))/‖∇ℓ₁(0)‖",
        "P_X": "projection onto the span of the points",
        "ŵ": "the teacher's weights, projected onto the span of the points",
    },
    in_print="The thesis shows that constants exist; here they are computed from the points, the teacher and ℓ(0). "
    "From c ℓ₁ ≤ ½ ‖∇ℓ₁‖² (D.14) the proof concludes ℓ' ≤ −cℓ, but ℓ' ≤ −2cℓ follows; here c is this larger rate. The "
    "curvature of the proof may be as small as e^{−300} for almost hard labels. The slope of the gradient is a second "
    "constant, ours, which is then much larger. The Hessian D.8 leaves out the factor 1/n of the loss. The constant "
    "λ_max below D.17 is that of a projection, which is 1.",
    source="T5 theorem D.3, corollary D.1, eqs. D.20, D.21 and D.25",
    check=loss_rate,
    on={LinearTeacher: _of_transfer},
    variants=("steepest",),
    demonstrations=(
        Demonstration("4 points in R⁸, one layer", Verdict.HOLDS, lambda: _case(4)),
        Demonstration("16 points in R⁸, one layer", Verdict.HOLDS, lambda: _case(16)),
        Demonstration("4 points in R⁸, three layers", Verdict.HOLDS, lambda: _case(4, depth=3)),
        Demonstration(
            "8 points in a plane of R⁸",
            Verdict.NOT_APPLICABLE,
            lambda: loss_rate(case(8, 2, 14)[0] @ torch.eye(2, 8).double().numpy(), case(1, 8, 14)[1]),
        ),
        Demonstration(
            "Three layers, start worse than zero (eq. 5.12)",
            Verdict.NOT_APPLICABLE,
            lambda: _case(4, depth=3, start=-0.1 * case(4, 8, 14)[1]),
        ),
        Demonstration(
            "Negative control: c from the largest curvature at the minimum",
            Verdict.REFUTED,
            lambda: _case(4, steepest=True),
        ),
    ),
)
