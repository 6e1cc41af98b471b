"""Gradient flow of a linear student of any depth, to its end (T5 section 5.2)."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.core.threads import one_thread
from relulab.flow.trajectory import Trajectory
from relulab.subjects.distillation.flow.factor_flow import FactorFlow
from relulab.subjects.distillation.flow.product_flow import Escape, Shallow, System
from relulab.subjects.distillation.flow.radau import follow
from relulab.subjects.distillation.flow.reduced_problem import Reduced
from relulab.subjects.distillation.tools.balanced_start import Factors, factors, imbalance, product
from relulab.subjects.distillation.tools.transfer import Numbers, numbers, transfer

BALANCED = 1e-10  # the largest imbalance at which D.22 is taken for the flow of the product


@by_cpu
@one_thread()
@torch.no_grad()
def distillation_flow(
    X: Numbers,
    w_star: Numbers,
    start: Numbers | Sequence[Numbers] | None = None,
    *,
    depth: int | None = None,
    by: Literal["product", "factors"] = "product",
    tolerance: float = 1e-8,
    until: float = math.inf,
    steps: int = 2000,
    looks: int = 100,
) -> Trajectory[Tensor]:
    """A student of the teacher w* on the points X, trained by gradient flow of ℓ (5.3) until it is at a minimum.

    By the product the induced flow D.22 is followed, which needs a balanced start and no matrices; by the factors, each
    of them.

    It ends where Newton's step to the minimum is shorter than ``tolerance`` · max(‖w(0)‖, ‖w‖), at the time ``until``,
    after ``steps`` steps of the solver, or where the student stays at w = 0 or the solver cannot go on; ``says`` tells
    which. States are kept at times spaced logarithmically (for L ≥ 3 not t is, but s with ds = ‖w‖^{1−2/L} dt, which
    sees the escape from a small start as well as the end): ``w``, its ``loss``, ``q`` = ‖P_Q w‖², the square length of
    w outside the span of the points (T5 before D.29), and, by the factors, ``W_1``, …, ``W_L``. The trajectory's
    ``distance`` is the length of Newton's step at the end.

    Args:
        X: Points, (n, d), a point a row.
        w_star: The teacher w*, (d,), not zero.
        start: Factor matrices W_1, …, W_L, or a vector w(0), (d,), which stands for any balanced matrices with that
            product. None is a student of one layer that begins at zero.
        depth: Number of layers L of a start that is a vector. None means 1, or as many as there are matrices.
        by: Whether the flow of the "product" or that of the "factors" is followed. The factors need matrices as a
            start.
        tolerance: The length of Newton's step, as a share of max(‖w(0)‖, ‖w‖), at which the minimum counts as reached.
        until: The time at which the flow ends at the latest.
        steps: The most steps of the solver.
        looks: Number of states that are kept, at least 2.

    >>> path = distillation_flow([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [1.0, -1.0, 1.0])
    >>> path.end.round(decimals=6).tolist(), path.says
    ([1.0, -1.0, 0.0], 'the minimum is reached')
    """
    X, w_star = transfer(X, w_star)
    if X.dim() != 2:
        raise UserError(f"points of shape {tuple(X.shape)}: one set of points at a time is followed")
    if not (tolerance > 0 and until > 0 and steps >= 1 and looks >= 2):
        raise UserError(
            f"tolerance={tolerance}, until={until}, steps={steps}, looks={looks}: positive, looks from 2 on"
        )
    largest = float((X @ w_star).abs().max())
    if not largest < 1e100:
        raise UserError(
            f"the teacher's largest logit is {largest:.1g}: its labels are 0 and 1 and no flow ends, rescale"
        )
    w_0, matrices, depth = given_start(start, depth, X.shape[1])
    system = _system(Reduced.of(X, w_star, w_0), w_0, matrices, depth, by)
    found = follow(system, tolerance=tolerance, until=until, steps=steps, looks=looks)
    c, x, outside = (np.stack(parts) for parts in zip(*(look.student for look in found.looks), strict=True))
    w, q = c @ system.points.V + outside, (outside**2).sum(-1)
    states = {"w": torch.from_numpy(w), "loss": system.points.loss(x), "q": torch.from_numpy(q)}
    if isinstance(system, FactorFlow):
        states |= numbered([system.weights(look.state) for look in found.looks])
    times = torch.tensor([look.time for look in found.looks], dtype=torch.float64)
    return Trajectory(times, states, found.reached, found.says, found.steps, found.distance)


def numbered(looks: Sequence[Factors]) -> dict[str, Tensor]:
    """The factor matrices W_1, …, W_L of all looks by name, with a leading axis of looks.

    Args:
        looks: the matrices at every look.
    """
    return {f"W_{l}": torch.stack(matrices) for l, matrices in enumerate(zip(*looks, strict=True), 1)}


def given_start(
    start: Numbers | Sequence[Numbers] | None, depth: int | None, d: int
) -> tuple[Float64[Tensor, " d"], Factors | None, int]:
    """w(0), the matrices where they were given, and the depth."""
    if start is None:
        if depth not in (None, 1):
            raise UserError(f"depth {depth} without a start: a deep student must not begin at zero; see balanced_start")
        return torch.zeros(d, dtype=torch.float64), None, 1
    matrices = None
    if isinstance(start, Sequence) and len(start) and not isinstance(start[0], (int, float)):
        matrices = factors(start)
        if depth not in (None, len(matrices)):
            raise UserError(f"depth {depth} with {len(matrices)} factor matrices: leave depth out, or make them agree")
    w_0 = numbers(start, "the start") if matrices is None else product(matrices)
    if w_0.shape != (d,):
        raise UserError(f"a start for {tuple(w_0.shape)} inputs, points have {d} columns: as many are needed of both")
    depth = len(matrices) if matrices else depth or 1
    if depth < 1 or (matrices is None and depth > 1 and not w_0.any()):
        raise UserError(f"depth {depth} from zero: a deep student never leaves it, and depths begin at 1")
    return w_0, matrices, depth


def _system(points: Reduced, w_0: Tensor, matrices: Factors | None, depth: int, by: str) -> System:
    if by == "factors":
        if matrices is None:
            raise UserError("by the factors, the start must be a list of factor matrices: see balanced_factors")
        return FactorFlow(points, matrices)
    if by != "product":
        raise UserError(f"by={by!r}: 'product' or 'factors' was expected")
    if matrices and (gap := imbalance(matrices)) > BALANCED:
        raise UserError(f"the start is not balanced, by {gap:.2g} (5.13): its flow is by='factors'")
    if matrices and depth > 1 and not w_0.any():
        raise UserError("all factor matrices are zero: a deep student never leaves that")
    c, a = points.coordinates(w_0)
    return Shallow(points, c - points.c_hat, a) if depth == 1 else Escape(points, c, a, depth)
