r"""T5.T2.near, a deep student whose start is only nearly balanced (a remark of T5 after theorem 5.2, made precise).

Theorem 5.2 requires W_{l+1}ᵀ W_{l+1} = W_l W_lᵀ (5.13). The text notes that small random layers satisfy this only
approximately, and expects that to be enough. ``balance_allowance`` gives a number A for any start such that every
minimum that gradient flow reaches lies within A of ŵ. It depends on the part of W_1 outside the span of the points and
on the differences D_l = W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ, which gradient flow does not change. So A ≤ ε takes the place of
the conditions 5.11 and 5.13. That the flow reaches a minimum is not proved for such starts; it is measured.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.flow.trajectory import Trajectory
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.flow.distillation_flow import distillation_flow
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.theorems.shallow_student import NEAR, case, measured, orthogonal, unfinished
from relulab.subjects.distillation.tools.balance_allowance import balance_allowance, differences
from relulab.subjects.distillation.tools.balanced_start import Factors, distance_bound, factors, imbalance, product
from relulab.subjects.distillation.tools.distillation_loss import gain
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.transfer import Numbers, Transfer, transfer


def nearly_balanced_student(
    X: Numbers,
    w_star: Numbers,
    *,
    epsilon: float = 0.25,
    depth: int = 2,
    width: int = 5,
    scale: float = 0.01,
    start: Sequence[Numbers] | None = None,
    seed: int = 0,
    steps: int = 2000,
    as_balanced: bool = False,
) -> Finding:
    """Follow all layers from a start that need not be balanced, and compare the end with ŵ.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        epsilon: ε/‖ŵ‖, the distance from ŵ that is allowed at the end.
        depth: Number of layers L of the random start, at least 2. Not used if ``start`` is given.
        width: Width of the hidden layers of the random start.
        scale: Size of the random start: the Gaussian entries have the standard deviation ``scale`` · ‖ŵ‖^{1/L}.
        start: Factor matrices W_1, …, W_L. Default: Gaussian matrices.
        seed: Seed of the random start.
        steps: Maximum number of solver steps.
        as_balanced: If True, check a false variant of the statement (negative control): the end is claimed to be within
            the bound D.40, which is true for balanced starts of this length ‖w(0)‖.

    >>> nearly_balanced_student([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [1.0, -1.0, 2.0]).verdict.name
    'HOLDS'
    """
    given = transfer(X, w_star)
    norm = float(distilled(*given).w.norm())
    if orthogonal(distilled(*given).w, given.w_star):
        raise UserError("the teacher is orthogonal to all points, up to rounding, so ŵ = 0: add other points")
    W = (
        factors(start)
        if start is not None
        else gaussian_start(given, depth, width, scale, stream(0, Role.CHANCE, seed))
    )
    allowance = balance_allowance(*given, W)
    conditions = (
        Check("The start is small and nearly balanced: it allows at most ε", allowance, "<=", epsilon * norm,
              detail=f"it allows a distance of {number(allowance)} from ŵ, must be at most {number(epsilon * norm)}; "
              f"the two sides of eq. 5.13 differ by {number(imbalance(W))} of the largest ‖W_l‖²"),
    )  # fmt: skip
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    path = distillation_flow(*given, W, by="factors", steps=steps)
    bound = float(distance_bound(float(product(W).norm()), len(W), norm)) if as_balanced else allowance
    return Finding(conditions, _conclusion(given, W, path, bound))


def gaussian_start(given: Transfer, depth: int, width: int, scale: float, rng: np.random.Generator) -> Factors:
    """Gaussian layers; if −w(0) has a smaller loss than w(0), the sign of the last layer is flipped.

    Args:
        given: Points and teacher.
        depth: Number of layers L, at least 2.
        width: Width of the hidden layers.
        scale: Standard deviation of the entries, in units of ‖ŵ‖^{1/L}.
        rng: Random generator.
    """
    if depth < 2 or width < 1 or not 0 < scale < math.inf:
        raise UserError(
            f"expected depth ≥ 2, width ≥ 1 and a positive scale, got depth = {depth}, width = {width} and scale = "
            f"{scale}"
        )
    size = scale * float(distilled(*given).w.norm()) ** (1 / depth)
    shapes = [(width, given.X.shape[1]), *[(width, width)] * (depth - 2), (1, width)]
    W = [size * torch.from_numpy(rng.standard_normal(shape)) for shape in shapes]
    w = product(W)
    return [*W[:-1], -W[-1]] if gain(*given, w) > gain(*given, -w) else W


def _conclusion(given: Transfer, W: Factors, path: Trajectory[Tensor], bound: float) -> tuple[Check, ...]:
    w_hat = distilled(*given).w
    far, norm, stopped = float((path.end - w_hat).norm()), float(w_hat.norm()), unfinished(path)
    end = [path[f"W_{l}"][-1] for l in range(1, len(W) + 1)]
    size = max(float(matrix.norm()) for matrix in end) ** 2
    drift = max(float((b - a).norm()) for a, b in zip(differences(W), differences(end), strict=True)) / size
    return (
        Check("The student ends within this distance of ŵ", measured(far, path), "<=", bound + NEAR * norm,
              detail=stopped or f"the distance is {number(far)}, must be at most {number(bound)}; up to "
              f"{number(NEAR * norm)} is the solver's error"),
        Check("Training does not change the differences W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ", drift, "<=", NEAR,
              detail=f"they change by {number(drift)} of the largest ‖W_l‖² at the end; up to {NEAR:g} is the solver's "
              "error"),
    )  # fmt: skip


def stretched(W: Factors, factor: float) -> Factors:
    """The same product with a longer first and a shorter last layer: W_1 times the factor, W_L divided by it."""
    return [W[0] * factor, *W[1:-1], W[-1] / factor]


def _case(depth: int = 2, *, factor: float = 1.0, **options) -> Finding:
    given = transfer(*case(4, 8, 15))
    W = gaussian_start(given, depth, 5, 0.01, stream(0, Role.DEMONSTRATION, 24))
    return nearly_balanced_student(*given, start=stretched(W, factor), **options)


def _of_transfer(
    X: Numbers,
    w_star: Numbers,
    *,
    epsilon: float = 0.25,
    depth: int = 2,
    width: int = 5,
    scale: float = 0.01,
    seed: int = 0,
    steps: int = 2000,
) -> Finding:
    return nearly_balanced_student(
        X, w_star, epsilon=epsilon, depth=depth, width=width, scale=scale, seed=seed, steps=steps
    )


THEOREM = Theorem(
    id="T5.T2.near",
    title="A deep student from a nearly balanced start ends near the projection of the teacher",
    statement="Train a deep linear student wᵀ = W_L ⋯ W_1 on soft labels by gradient flow. From the start, compute the "
    "allowance A: the largest distance from ŵ that is possible at a minimum of the loss, given the part of W_1 outside "
    "the span of the points and the differences W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ. If A ≤ ε ‖ŵ‖ and the flow reaches a "
    "minimum, it ends within A of ŵ.",
    symbols={
        "W_l": "weight matrix of layer l, l = 1, …, L",
        "L": "number of layers, at least 2",
        "w(0)": "product of all layers at the start; w during training",
        "ŵ": "the teacher's weights, projected onto the span of the points",
        "A": "the allowance ‖F‖ √G",
        "F": "the part of W_1 outside the span of the points, at the start",
        "G": "an upper bound on ‖W_L ⋯ W_2‖² that is computed from the start",
        "ε": "the distance from ŵ that is allowed at the end, as a share of ‖ŵ‖",
    },
    in_print="The thesis requires exact balance (5.13) and expects that approximate balance is enough, without a "
    "bound. The allowance is ours. For balanced starts it equals the exact limit. For small Gaussian layers it is of "
    "the order of their size, although their imbalance, relative to their size, is not small.",
    source="T5 section 5.3.1, the remark on condition 5.13 after theorem 5.2",
    check=nearly_balanced_student,
    on={LinearTeacher: _of_transfer},
    variants=("as_balanced",),
    demonstrations=(
        Demonstration("4 points in R⁸, two small Gaussian layers", Verdict.HOLDS, _case),
        Demonstration("4 points in R⁸, three small Gaussian layers", Verdict.HOLDS, lambda: _case(3)),
        Demonstration(
            "First layer 5 times longer, last layer 5 times shorter", Verdict.HOLDS, lambda: _case(factor=5.0)
        ),
        Demonstration("First layer 100 times longer", Verdict.NOT_APPLICABLE, lambda: _case(factor=100.0)),
        Demonstration(
            "Negative control: the bound for balanced starts, first layer 5 times longer",
            Verdict.REFUTED,
            lambda: _case(factor=5.0, as_balanced=True),
        ),
    ),
)
