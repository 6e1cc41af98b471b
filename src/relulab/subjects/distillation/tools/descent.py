r"""Plain gradient descent on all factor matrices of a linear student, as used in practice (T5 eq. 5.2)."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from relulab.core.device import by_cpu
from relulab.core.errors import UserError
from relulab.core.threads import one_thread
from relulab.flow.trajectory import Trajectory
from relulab.subjects.distillation.flow.distillation_flow import given_start, numbered
from relulab.subjects.distillation.flow.factor_flow import factor_gradients
from relulab.subjects.distillation.flow.reduced_problem import Reduced
from relulab.subjects.distillation.instruments.closed_form import distilled
from relulab.subjects.distillation.tools.balanced_start import Factors, product
from relulab.subjects.distillation.tools.distillation_loss import gradient, loss, pull
from relulab.subjects.distillation.tools.span import span
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

EXPLODED = 10.0  # diverged if the loss exceeds this many times max(initial loss, 1)


@by_cpu
@one_thread()
@torch.no_grad()
def distillation_descent(
    X: Numbers,
    w_star: Numbers,
    start: Sequence[Numbers] | Numbers | None = None,
    *,
    step: float | None = None,
    steps: int = 10_000,
    tolerance: float = 1e-8,
    looks: int = 100,
) -> Trajectory[Tensor]:
    """Train a student by gradient descent, W_l ← W_l − η ∂ℓ/∂W_l.

    Training stops when ‖∇ℓ₁(w)‖ ≤ ``tolerance`` · ‖∇ℓ₁(0)‖, or after ``steps`` steps. The times of the trajectory are η
    times the number of steps, which makes them comparable with gradient flow. If the loss diverges or does not
    decrease, an error asks for a smaller step. Snapshots are as in ``distillation_flow``; for deep students they
    include the matrices.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        start: Factor matrices W_1, …, W_L, or a vector w(0), (d,), for one layer. Default: one layer that starts at
            zero.
        step: The step size η, above 0. Default: ``largest_step``, the inverse of the curvature of the loss.
        steps: Maximum number of steps.
        tolerance: The gradient norm, relative to that at w = 0, at which training stops.
        looks: Approximate number of snapshots that are kept, at least 2.

    >>> path = distillation_descent([[2.0, 0.0], [1.0, 1.0]], [1.0, -1.0])
    >>> path.end.round(decimals=5).tolist(), path.reached
    ([1.0, -1.0], True)
    """
    X, w_star = transfer(X, w_star)
    if X.dim() != 2:
        raise UserError(f"expected one set of points, (n, d), got shape {tuple(X.shape)}: train one student per set")
    if not (steps >= 1 and looks >= 2 and tolerance >= 0 and (step is None or step > 0)):
        raise UserError(
            f"expected positive step and steps, tolerance ≥ 0 and looks ≥ 2, got step={step}, steps={steps}, "
            f"tolerance={tolerance}, looks={looks}"
        )
    w_0, matrices, _ = given_start(start, None, X.shape[1])
    W = [w_0[None].clone()] if matrices is None else [matrix.clone() for matrix in matrices]
    step = step or largest_step(X, w_star, W)
    bound = float(tolerance * gradient(X, w_star, torch.zeros_like(w_star)).norm())
    at = {0, steps, *np.geomspace(1, steps, looks - 1).round().astype(int).tolist()}
    z = X @ w_star
    y, least = torch.sigmoid(z), float(_cross_entropy(z, torch.sigmoid(z)))
    snapshots, losses, taken, w = [], [], 0, w_0
    while True:
        u = X @ w
        g = pull(z, X @ (w - w_star)) @ X / len(X)
        reached = bool(g.norm() <= bound)
        losses.append(float(_cross_entropy(u, y)) - least)
        _descends(losses, step, over=taken == steps and not reached)
        if taken in at or reached:
            snapshots.append((taken, w, [matrix.clone() for matrix in W]))
        if reached or taken == steps:
            break
        for matrix, G in zip(W, factor_gradients(W, g), strict=True):
            matrix -= step * G
        w, taken = product(W), taken + 1
    return _trajectory(X, w_star, snapshots, step, reached)


def largest_step(X: Tensor, w_star: Tensor, W: Factors) -> float:
    """Return the inverse of the curvature of ℓ, which is λ_max(XᵀX)/4n for one layer; this step is never too long.

    For L layers, the curvature is multiplied by 2 Σ_l Π_{k≠l} ‖W_k‖², where each ‖W_k‖ is the larger of its value at
    the start and ‖ŵ‖^{1/L}, its value at the end for balanced layers. The factor 2 is a margin for the steps between.
    """
    top = float(torch.linalg.matrix_norm(X, 2)) ** 2 / len(X) / 4
    if not top:
        raise UserError("all points are zero, so nothing can be learned: give other points")
    if len(W) == 1:
        return 1 / top
    end = float(distilled(X, w_star).w.norm()) ** (1 / len(W))
    squares = torch.tensor([max(float(torch.linalg.matrix_norm(matrix, 2)), end) ** 2 for matrix in W])
    return 1 / (2 * top * float((squares.prod() / squares).sum()))


def _cross_entropy(u: Tensor, y: Tensor) -> Tensor:
    """ℓ₁ up to a constant; enough to see whether it decreases, and faster than ``loss``."""
    return (softplus(u) - y * u).mean()


def _descends(losses: list[float], step: float, over: bool) -> None:
    """Raise an error if the step is too long: the loss diverges, or still oscillates after all steps."""
    late = np.diff(losses[len(losses) // 2 :]) if over and len(losses) > 8 else np.zeros(1)
    if not losses[-1] <= EXPLODED * max(losses[0], 1.0) or (late > 1e-12 + 1e-9 * losses[0]).mean() > 0.25:
        raise UserError(
            f"gradient descent with step {step:.3g} does not converge: the loss went from {losses[0]:.3g} to "
            f"{losses[-1]:.3g} in {len(losses) - 1} steps; use a smaller step, or step=None"
        )


def _trajectory(
    X: Tensor, w_star: Tensor, snapshots: list[tuple[int, Tensor, Factors]], step: float, reached: bool
) -> Trajectory[Tensor]:
    count, w = torch.tensor([k for k, _, _ in snapshots]), torch.stack([w for _, w, _ in snapshots])
    outside = w - span(X).projected(w)
    points = Reduced.of(X, w_star, w[-1])
    says = (
        "the gradient is below the tolerance"
        if reached
        else f"the step limit of {int(count[-1]):,} was reached before the gradient was below the tolerance"
    )
    states = {"w": w, "loss": loss(X, w_star, w), "q": outside.square().sum(-1)}
    if len(snapshots[0][2]) > 1:
        states |= numbered([W for _, _, W in snapshots])
    distance = points.newton(points.coordinates(w[-1])[0] - points.c_hat)
    return Trajectory(count.double() * step, states, reached, says, int(count[-1]), distance)
