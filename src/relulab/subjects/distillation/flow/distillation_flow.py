"""Gradient flow of a linear student of any depth to its limit (T5 section 5.2)."""

import math
from collections.abc import Sequence
from typing import Any, Literal

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

MOST = 900  # largest power of two by which a problem is rescaled
BALANCED = 1e-10  # largest imbalance for which D.22 is used as the flow of the product


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
    """Train a linear student of the teacher w* on the points X by gradient flow of the loss ℓ (5.3).

    The flow ends when the Newton step to the minimum is shorter than ``tolerance`` · max(‖w(0)‖, ‖w‖), at time
    ``until``, after ``steps`` solver steps, when the student reaches w = 0, or when the solver fails. The attribute
    ``says`` of the trajectory gives the reason, and ``distance`` is the length of the Newton step at the end.

    The trajectory has the states ``w``, ``loss`` and ``q`` = ‖P_Q w‖², the squared length of w outside the span of the
    points (T5 before D.29). With ``by="factors"`` it also has ``W_1``, …, ``W_L``. Snapshots are spaced logarithmically
    in time; for L ≥ 3, in s with ds = ‖w‖^{1−2/L} dt, which resolves both the escape from a small start and the end.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        start: Factor matrices W_1, …, W_L, or a vector w(0), (d,), which represents any balanced matrices with that
            product. Default: one layer that starts at zero.
        depth: Number of layers L if the start is a vector. Default: 1, or the number of matrices.
        by: "product" follows the induced flow D.22 of w, which needs a balanced start; "factors" follows the flow of
            all matrices, which must be given as the start.
        tolerance: The length of the Newton step, relative to max(‖w(0)‖, ‖w‖), at which the minimum counts as reached.
        until: Latest time at which the flow ends.
        steps: Maximum number of solver steps.
        looks: Number of snapshots that are kept, at least 2.

    >>> path = distillation_flow([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [1.0, -1.0, 1.0])
    >>> path.end.round(decimals=6).tolist(), path.says
    ([1.0, -1.0, 0.0], 'the minimum was reached')
    """
    X, w_star = transfer(X, w_star)
    if X.dim() != 2:
        raise UserError(f"expected one set of points, (n, d), got shape {tuple(X.shape)}: run one flow per set")
    if not (tolerance > 0 and until > 0 and steps >= 1 and looks >= 2):
        raise UserError(
            f"expected positive tolerance, until and steps, and looks ≥ 2, got tolerance={tolerance}, until={until}, "
            f"steps={steps}, looks={looks}"
        )
    largest = float((X @ w_star).abs().max())
    if not largest < 1e100:
        raise UserError(
            f"the teacher's largest logit is {largest:.1g}, so its labels are 0 and 1 and the flow has no end: rescale "
            "the points or the teacher"
        )
    w_0, matrices, depth = given_start(start, depth, X.shape[1])
    # In units in which points have a length near 1, squares of the shortest ones do not underflow.
    k = _unit(X, w_star, w_0, depth)
    X, w_star, w_0 = _shifted(X, -k * depth), _shifted(w_star, k * depth), _shifted(w_0, k * depth)
    matrices, unit = matrices and [_shifted(W, k) for W in matrices], _shifted(1.0, -2 * k)
    system = _system(Reduced.of(X, w_star, w_0), w_0, matrices, depth, by)
    result = follow(system, tolerance=tolerance, until=until, steps=steps, looks=looks, unit=unit)
    c, x, outside = (np.stack(parts) for parts in zip(*(look.student for look in result.looks), strict=True))
    w, q = c @ system.points.V + outside, (outside**2).sum(-1)
    w, q = _shifted(torch.from_numpy(w), -k * depth), _shifted(torch.from_numpy(q), -2 * k * depth)
    states = {"w": w, "loss": system.points.loss(x), "q": q}
    if isinstance(system, FactorFlow):
        looked = numbered([system.weights(look.state) for look in result.looks])
        states |= {name: _shifted(W, -k) for name, W in looked.items()}
    times = torch.tensor([look.time for look in result.looks], dtype=torch.float64)
    distance = float(_shifted(result.distance, -k * depth))
    return Trajectory(times, states, result.reached, result.says, result.steps, distance)


def _unit(X: Tensor, w_star: Tensor, w_0: Tensor, depth: int) -> int:
    """The k for which the largest entry of 2^{−kL} X is near 1; 0 if weights would then overflow.

    Points times 2^{−kL}, weights times 2^{kL} and layers times 2^k are the same problem, with times multiplied by 4^k.
    Powers of two change no digits.
    """
    largest = float(X.abs().max())
    k = round(min(max(math.log2(largest), -MOST), MOST) / depth) if largest else 0
    fits = all(_shifted(w, k * depth).isfinite().all() for w in (w_star, w_0))
    return k if fits else 0


def _shifted(x: Any, power: int) -> Any:
    """The number or tensor x times 2^power, without an overflow on the way."""
    half = power // 2
    return x * 2.0**half * 2.0 ** (power - half)


def numbered(looks: Sequence[Factors]) -> dict[str, Tensor]:
    """Return the factor matrices W_1, …, W_L of all snapshots by name, with a leading axis of snapshots.

    Args:
        looks: The list of matrices of each snapshot.
    """
    return {f"W_{l}": torch.stack(matrices) for l, matrices in enumerate(zip(*looks, strict=True), 1)}


def given_start(
    start: Numbers | Sequence[Numbers] | None, depth: int | None, d: int
) -> tuple[Float64[Tensor, " d"], Factors | None, int]:
    """Return w(0), the matrices if they were given, and the depth."""
    if start is None:
        if depth not in (None, 1):
            raise UserError(
                f"depth {depth} needs a start, because a deep student never leaves zero: use balanced_start"
            )
        return torch.zeros(d, dtype=torch.float64), None, 1
    matrices = None
    if isinstance(start, Sequence) and len(start) and np.ndim(start[0]):
        matrices = factors(start)
        if depth not in (None, len(matrices)):
            raise UserError(f"depth is {depth}, but there are {len(matrices)} factor matrices: leave out depth")
    w_0 = numbers(start, "the start") if matrices is None else product(matrices)
    if w_0.shape != (d,):
        raise UserError(f"the start has shape {tuple(w_0.shape)}, but points have {d} columns: give {d} weights")
    depth = len(matrices) if matrices else depth or 1
    if depth < 1 or (matrices is None and depth > 1 and not w_0.any()):
        raise UserError(
            f"expected depth ≥ 1, and a start other than zero for depth > 1, got depth {depth}: a deep student never "
            "leaves zero"
        )
    return w_0, matrices, depth


def _system(points: Reduced, w_0: Tensor, matrices: Factors | None, depth: int, by: str) -> System:
    if by == "factors":
        if matrices is None:
            raise UserError('by="factors" needs a list of factor matrices as the start: use balanced_factors')
        return FactorFlow(points, matrices)
    if by != "product":
        raise UserError(f"expected by='product' or by='factors', got by={by!r}")
    if matrices and (gap := imbalance(matrices)) > BALANCED:
        raise UserError(f"the start is not balanced (5.13): its imbalance is {gap:.2g}; use by='factors'")
    if matrices and depth > 1 and not w_0.any():
        raise UserError(
            "the product of the factor matrices is zero, which a deep student never leaves: use balanced_start"
        )
    c, a = points.coordinates(w_0)
    return Shallow(points, c - points.c_hat, a) if depth == 1 else Escape(points, c, a, depth)
