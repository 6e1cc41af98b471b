r"""Plain gradient descent of a linear student on all of its factor matrices: what is done in practice (T5 eq. 5.2)."""

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

EXPLODED = 10.0  # times the loss of the start, or 1 if that is more: descent with a fitting step never climbs so high


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
    """Trains a student by gradient descent, W_l ← W_l − η ∂ℓ/∂W_l.

    It stops where ‖∇ℓ₁(w)‖ ≤ ``tolerance`` · ‖∇ℓ₁(0)‖, or after ``steps``. Times of the path are η times the number of
    steps, those of the flow that descent follows. A step under which the loss explodes or does not come down is
    refused. Looks are as in ``distillation_flow``, with the matrices of deep ones.

    Args:
        X: Points, (n, d), a point a row.
        w_star: The teacher w*, (d,), not zero.
        start: Factor matrices W_1, …, W_L, or a vector w(0), (d,), for one layer. None is a student of one layer that
            begins at zero.
        step: The step η, above 0. None takes ``largest_step``, one over the curvature of the loss.
        steps: The most steps that are taken.
        tolerance: The length of the gradient, as a share of that at w = 0, at which descent stops.
        looks: About how many states are kept, at least 2.

    >>> path = distillation_descent([[2.0, 0.0], [1.0, 1.0]], [1.0, -1.0])
    >>> path.end.round(decimals=5).tolist(), path.reached
    ([1.0, -1.0], True)
    """
    X, w_star = transfer(X, w_star)
    if X.dim() != 2:
        raise UserError(f"points of shape {tuple(X.shape)}: one set of points at a time is trained on")
    if not (steps >= 1 and looks >= 2 and tolerance >= 0 and (step is None or step > 0)):
        raise UserError(f"step={step}, steps={steps}, tolerance={tolerance}, looks={looks}: positive, looks from 2 on")
    w_0, matrices, _ = given_start(start, None, X.shape[1])
    W = [w_0[None].clone()] if matrices is None else [matrix.clone() for matrix in matrices]
    step = step or largest_step(X, w_star, W)
    bound = float(tolerance * gradient(X, w_star, torch.zeros_like(w_star)).norm())
    at = {0, steps, *np.geomspace(1, steps, looks - 1).round().astype(int).tolist()}
    z = X @ w_star
    y, least = torch.sigmoid(z), float(_cross_entropy(z, torch.sigmoid(z)))
    seen, losses, taken, w = [], [], 0, w_0
    while True:
        u = X @ w
        g = pull(z, X @ (w - w_star)) @ X / len(X)
        reached = bool(g.norm() <= bound)
        losses.append(float(_cross_entropy(u, y)) - least)
        _descends(losses, step, over=taken == steps and not reached)
        if taken in at or reached:
            seen.append((taken, w, [matrix.clone() for matrix in W]))
        if reached or taken == steps:
            break
        for matrix, G in zip(W, factor_gradients(W, g), strict=True):
            matrix -= step * G
        w, taken = product(W), taken + 1
    return _trajectory(X, w_star, seen, step, reached)


def largest_step(X: Tensor, w_star: Tensor, W: Factors) -> float:
    """One over the curvature of ℓ: λ_max(XᵀX)/4n for one layer, which is never too long a step.

    For L layers that is multiplied by Σ_l Π_{k≠l} ‖W_k‖², with each ‖W_k‖ as it is at the start or ‖ŵ‖^{1/L}, as it is
    at the end of balanced layers, whichever is larger; and by 2, for what comes between.
    """
    top = float(torch.linalg.matrix_norm(X, 2)) ** 2 / len(X) / 4
    if not top:
        raise UserError("all points are zero: there is nothing to learn from them")
    if len(W) == 1:
        return 1 / top
    end = float(distilled(X, w_star).w.norm()) ** (1 / len(W))
    squares = torch.tensor([max(float(torch.linalg.matrix_norm(matrix, 2)), end) ** 2 for matrix in W])
    return 1 / (2 * top * float((squares.prod() / squares).sum()))


def _cross_entropy(u: Tensor, y: Tensor) -> Tensor:
    """ℓ₁ before it is normalized: enough to see whether it comes down, and quicker than ``loss``."""
    return (softplus(u) - y * u).mean()


def _descends(losses: list[float], step: float, over: bool) -> None:
    """Refuses a step that is too long: the loss explodes, or still goes up and down when all steps are taken."""
    late = np.diff(losses[len(losses) // 2 :]) if over and len(losses) > 8 else np.zeros(1)
    if not losses[-1] <= EXPLODED * max(losses[0], 1.0) or (late > 1e-12 + 1e-9 * losses[0]).mean() > 0.25:
        raise UserError(
            f"gradient descent with step {step:.3g} does not settle: after {len(losses) - 1} steps the loss is "
            f"{losses[-1]:.3g}, at the start it was {losses[0]:.3g}; take a smaller step, or leave it to the curvature"
        )


def _trajectory(
    X: Tensor, w_star: Tensor, seen: list[tuple[int, Tensor, Factors]], step: float, reached: bool
) -> Trajectory[Tensor]:
    count, w = torch.tensor([k for k, _, _ in seen]), torch.stack([w for _, w, _ in seen])
    outside = w - span(X).projected(w)
    points = Reduced.of(X, w_star, w[-1])
    says = "the gradient is below its tolerance" if reached else f"all {int(count[-1])} steps are taken"
    states = {"w": w, "loss": loss(X, w_star, w), "q": outside.square().sum(-1)}
    if len(seen[0][2]) > 1:
        states |= numbered([W for _, _, W in seen])
    distance = points.newton(points.coordinates(w[-1])[0] - points.c_hat)
    return Trajectory(count.double() * step, states, reached, says, int(count[-1]), distance)
