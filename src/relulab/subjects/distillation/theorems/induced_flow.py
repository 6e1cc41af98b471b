r"""T5.LD2, the flow of the product of balanced layers (T5 lemma D.2, claim 2 of Arora, Cohen and Hazan 2018).

If W_{l+1}ᵀ W_{l+1} = W_l W_lᵀ for l < L (5.13) at the start, then gradient flow of all layers moves their product by

    ∂w/∂τ = −‖w‖^{2(L−1)/L} (∇ℓ₁(w) + (L − 1) P_w ∇ℓ₁(w))   (D.22),

where P_w projects onto w. The check follows the matrices themselves. At each recorded time it compares D.22 with the
derivative of the product by the product rule, Σ_l W_L ⋯ W_{l+1} W_l' W_{l−1} ⋯ W_1 with W_l' = −∂ℓ/∂W_l (5.3).
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.flow.factor_flow import factor_gradients
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.theorems.shallow_student import NEAR, case, orthogonal
from relulab.subjects.distillation.tools.balanced_condition import is_balanced
from relulab.subjects.distillation.tools.balanced_start import Factors, balanced_factors, factors, product
from relulab.subjects.distillation.tools.distillation_loss import gain, gradient
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.transfer import Numbers, Transfer, transfer

EPS = torch.finfo(torch.float64).eps
WIDTH = 4  # width of the hidden layers of a random start
LOOKS = 40  # recorded times
MOVED = 0.01  # a student that moves by less than this share of its length shows nothing about later times


def induced_flow(
    X: Numbers,
    w_star: Numbers,
    *,
    depth: int = 2,
    length: float = 0.1,
    start: Sequence[Numbers] | None = None,
    seed: int = 0,
    steps: int = 2000,
    no_momentum: bool = False,
) -> Finding:
    """Follow all layers and compare the derivative of their product with D.22 at each recorded time.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        depth: Number of layers L of the random start, at least 2. Not used if ``start`` is given.
        length: ‖w(0)‖/‖ŵ‖ of the random start, above 0.
        start: Factor matrices W_1, …, W_L, at least two. Default: a random balanced start.
        seed: Seed of the random start.
        steps: Maximum number of solver steps.
        no_momentum: If True, check a false variant of the statement (negative control): D.22 without the term
            (L − 1) P_w ∇ℓ₁(w).

    >>> induced_flow([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [1.0, -1.0, 2.0]).verdict.name
    'HOLDS'
    """
    given = transfer(X, w_star)
    W = _random(given, depth, length, seed) if start is None else factors(start)
    if len(W) < 2:
        raise UserError("expected at least 2 layers, got 1: for one layer, the flow is −∇ℓ₁(w) by definition")
    conditions = (is_balanced(W),)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    widest, L = max(max(matrix.shape) for matrix in W), len(W)
    at_start = gap(given, W, no_momentum)
    path = distillation_flow(*given, W, by="factors", steps=steps, looks=LOOKS)
    looks = [[path[f"W_{l}"][k] for l in range(1, L + 1)] for k in range(len(path))]
    gaps = [gap(given, look, no_momentum) for look in looks]
    worst = max((g for g in gaps if not math.isnan(g)), default=math.nan)
    moved = float((path.end - path["w"][0]).norm() / path["w"].norm(dim=-1).max()) if path["w"].any() else 0.0
    rounding = 64 * L**2 * widest * EPS
    still = "" if moved > MOVED else f"unknown, because the student moves by only {number(moved)} of its length"
    scale = "of L ‖w‖^{2(L−1)/L} ‖∇ℓ₁(w)‖"
    return Finding(conditions, (
        Check("At the start, the product moves as in eq. D.22", at_start, "==", 0.0, rounding, NEAR,
              f"the two sides differ by {number(at_start)} {scale}; up to {number(rounding)} is rounding"),
        Check(f"At all of {len(looks)} later times, it still does", math.nan if still else worst, "<=", NEAR,
              detail=still or f"the two sides differ by at most {number(worst)} {scale}; up to {NEAR:g} is the "
              "solver's error"),
    ))  # fmt: skip


def gap(given: Transfer, W: Factors, no_momentum: bool = False) -> float:
    """The distance between the derivative of the product and D.22, in units of L ‖w‖^{2(L−1)/L} ‖∇ℓ₁(w)‖.

    Args:
        given: Points and teacher.
        W: Factor matrices W_1, …, W_L.
        no_momentum: Whether to leave out the term with P_w.
    """
    w, L = product(W), len(W)
    g, N = gradient(*given, w), w.norm()
    size = float(L * N ** (2 - 2 / L) * g.norm())
    if not size:
        return math.nan
    momentum = 0.0 if no_momentum else (L - 1) * (w / N) * ((w / N) @ g)
    return float((derivative(W, g) + N ** (2 - 2 / L) * (g + momentum)).norm()) / size


def derivative(W: Factors, g: Float64[Tensor, " d"]) -> Float64[Tensor, " d"]:
    """The derivative of the product under gradient flow of all layers, by the product rule, given ∇ℓ₁(w) = g."""
    gradients = factor_gradients(W, g)
    return -sum((product([*W[:l], gradients[l], *W[l + 1 :]]) for l in range(len(W))), torch.zeros_like(g))


def _random(given: Transfer, depth: int, length: float, seed: int) -> Factors:
    """A random balanced start; of w(0) and −w(0), the one with the smaller loss."""
    if depth < 2 or not 0 < length < math.inf:
        raise UserError(f"expected depth ≥ 2 and a positive length, got depth = {depth} and length = {length}")
    w_hat = distilled(*given).w
    if orthogonal(w_hat, given.w_star):
        raise UserError("the teacher is orthogonal to all points, up to rounding, so ŵ = 0: add other points")
    rng = stream(0, Role.CHANCE, seed)
    w = torch.from_numpy(rng.standard_normal(len(w_hat)))
    w = w / w.norm() * length * w_hat.norm()
    w = -w if gain(*given, w) > gain(*given, -w) else w
    return balanced_factors(w, rng, depth=depth, widths=WIDTH)


def _case(depth: int, *, unbalanced: bool = False, **options) -> Finding:
    X, w_star = case(4, 6, 15)
    W = _random(transfer(X, w_star), depth, 0.1, 3)
    W[0] = 2 * W[0] if unbalanced else W[0]
    return induced_flow(X, w_star, start=W, **options)


def _of_transfer(
    X: Numbers, w_star: Numbers, *, depth: int = 2, length: float = 0.1, seed: int = 0, steps: int = 2000
) -> Finding:
    return induced_flow(X, w_star, depth=depth, length=length, seed=seed, steps=steps)


THEOREM = Theorem(
    id="T5.LD2",
    title="The flow of the product of balanced layers",
    statement="Train a deep linear student wᵀ = W_L ⋯ W_1 by gradient flow from a balanced start "
    "(W_{l+1}ᵀ W_{l+1} = W_l W_lᵀ, eq. 5.13). Then ∂w/∂τ = −‖w‖^{2(L−1)/L} (∇ℓ₁(w) + (L − 1) P_w ∇ℓ₁(w)) at all times.",
    symbols={
        "W_l": "weight matrix of layer l, l = 1, …, L",
        "L": "number of layers, at least 2",
        "w(τ)": "product of all layers at time τ of the gradient flow; also written w",
        "τ": "time",
        "ℓ₁": "the distillation loss, as a function of w (eq. 5.1)",
        "P_w": "projection onto the line through w",
    },
    in_print="The lemma is quoted from another paper without a proof. Eq. 5.13 is stated for the start only; gradient "
    "flow keeps W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ as it is, so it then holds at all times.",
    source="T5 lemma D.2, eq. D.22",
    check=induced_flow,
    on={LinearTeacher: _of_transfer},
    variants=("no_momentum",),
    demonstrations=(
        Demonstration("4 points in R⁶, two layers", Verdict.HOLDS, lambda: _case(2)),
        Demonstration("4 points in R⁶, four layers", Verdict.HOLDS, lambda: _case(4)),
        Demonstration("Start not balanced (eq. 5.13)", Verdict.NOT_APPLICABLE, lambda: _case(2, unbalanced=True)),
        Demonstration(
            "Negative control: without the projection onto w",
            Verdict.REFUTED,
            lambda: _case(3, no_momentum=True),
        ),
    ),
)
