r"""Levenberg–Marquardt for two-layer ReLU networks and squared error, down to gradients of the size of rounding errors.

Let A = [W; b] (d+1 × n), U = [V; c] (n+1 × C), inputs x₁ = [x, 1], gates z and activations f₁ = [σ(x₁A), 1]. A step
solves (H + λ diag H) δ = −g. The matrix H = JᵀJ of all N·C residuals has the blocks

    H_{ki,k'i'} = (v_kᵀ v_k') Σ_x z_k z_k' x_i x_i',   H_{ki,k'c} = v_kc Σ_x z_k x_i f_k',   H_{kc,k'c} = Σ_x f_k f_k',

so the much larger matrix J is never formed.

The method would stall at kinks, where a step that is right on one side is wrong on the other. So it uses the smoothed
ReLU σ_τ(z) = (z + √(z² + τ²))/2, where τ is the root mean square of the residuals of the ReLU network and goes to zero
with them. A step is accepted if its loss is below the largest of the last few losses. If the method still stalls, the
weights get a small relative perturbation.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP

MEMORY = 20  # a step must have a lower loss than the largest of this many last losses
STALL = 20  # the loss must fall tenfold in this many steps
KICK = 0.003  # relative size of the perturbation after a stall
GIVE_UP = 1e12  # stop when the damping exceeds this


class Fit(NamedTuple):
    """Result of a fit: largest |g_1| over points and nodes, sum of squared residuals, steps taken, perturbations."""

    gradient: float
    loss: float
    steps: int
    kicks: int


class _State(NamedTuple):
    A: Float[Tensor, "d1 n"]
    U: Float[Tensor, "n1 C"]
    z: Float[Tensor, "N n"]
    f: Float[Tensor, "N n1"]
    r: Float[Tensor, "N C"]
    tau: float

    @property
    def loss(self) -> float:
        return float(self.r.square().sum())

    @property
    def g_1(self) -> Float[Tensor, "N n"]:
        """Gradient of ½‖f* − f‖² with respect to the pre-activations at every point, which is −g_1 of the papers."""
        return (self.r @ self.U[:-1].T) * self.z


@torch.no_grad()
def levenberg_marquardt(
    net: MLP, x: Float[Tensor, "N d"], y: Float[Tensor, "N C"], *, tolerance: float = 1e-10, steps: int = 1000
) -> Fit:
    """Train ``net`` in place until |g_1| < tolerance at every point and node.

    Training also ends after the given number of steps, or when no step lowers the loss. See ``gradient`` of the result.

    Args:
        net: One two-layer ReLU network with biases, in float64. It is changed in place.
        x: Points, (N, d).
        y: Target outputs, (N, C).
        tolerance: Largest |g_1| allowed.
        steps: Largest number of steps, at least 1.
    """
    if net.depth != 2 or net.lanes != 1 or net.slope or net.dtype != torch.float64 or not net.bias:
        raise UserError(
            f"expected one two-layer ReLU network with biases in float64, got {net.lanes} with {net.depth} layers in "
            f"{net.dtype}: use net.lane(0).double()"
        )
    if steps < 1 or not len(y) or x.shape != (len(y), net.widths[0]) or y.shape[1] != net.widths[-1]:
        raise UserError(
            f"got points of shape {tuple(x.shape)}, targets of shape {tuple(y.shape)} and {steps} steps for widths "
            f"{net.widths}: expected (points, {net.widths[0]}), (points, {net.widths[-1]}) and at least one step"
        )
    x1, y = nn.functional.pad(x.double(), (0, 1), value=1.0), y.double()
    sharp = _state(torch.cat([net.W[0][0], net.b[0][0]]), torch.cat([net.W[1][0], net.b[1][0]]), x1, y)
    noise, losses, damping, since, kicks, tau = torch.Generator().manual_seed(0), [], 1e-3, 0, 0, math.inf
    taken = 0
    for step in range(steps):
        if sharp.g_1.abs().max() < tolerance:
            break
        if step - since >= STALL and losses[-1] > 0.1 * losses[-STALL]:
            A, U = (t * (1 + KICK * torch.randn(t.shape, generator=noise, dtype=t.dtype)) for t in sharp[:2])
            sharp, losses, damping, since, kicks, tau = _state(A, U, x1, y), [], 1e-3, step, kicks + 1, math.inf
        tau = min(tau, float(sharp.r.square().mean().sqrt()))
        state = _state(sharp.A, sharp.U, x1, y, tau)
        losses.append(state.loss)
        moved, damping = _moved(state, x1, y, damping, max(losses[-MEMORY:]))
        if moved is None:
            break
        sharp, taken = _state(moved.A, moved.U, x1, y), step + 1
    for target, part in zip(
        (net.W[0], net.b[0], net.W[1], net.b[1]), (*_split(sharp.A), *_split(sharp.U)), strict=True
    ):
        target.data[0] = part
    return Fit(float(sharp.g_1.abs().max()), sharp.loss, taken, kicks)


def _split(t: Tensor) -> tuple[Tensor, Tensor]:
    return t[:-1], t[-1:]


def _state(A: Tensor, U: Tensor, x1: Tensor, y: Tensor, tau: float = 0.0) -> _State:
    inputs = x1 @ A
    # the smoothed ReLU uses √(z² + τ²); for τ = 0 the gate is 1 if z > 0
    root = (inputs.square() + tau**2).sqrt() if tau else inputs.abs()
    z = (1 + inputs / root) / 2 if tau else (inputs > 0).double()
    f = nn.functional.pad((inputs + root) / 2, (0, 1), value=1.0)
    return _State(A, U, z, f, f @ U - y, tau)


def _moved(state: _State, x1: Tensor, y: Tensor, damping: float, worst: float) -> tuple[_State | None, float]:
    """The state after a step with a loss below ``worst`` (None if there is none), and the damping of the next step."""
    H, g = normal_equations(state, x1)
    scale = H.diagonal().clamp(min=1e-12 * float(H.diagonal().max()))
    grow, (d1, n), (n1, C) = 2.0, state.A.shape, state.U.shape
    while damping < GIVE_UP:
        L, failed = torch.linalg.cholesky_ex(H + torch.diag(damping * scale))
        if not failed:
            delta = -torch.cholesky_solve(g[:, None], L)[:, 0]
            new = _state(
                state.A + delta[: n * d1].reshape(n, d1).T, state.U + delta[n * d1 :].reshape(n1, C), x1, y, state.tau
            )
            if new.loss < worst:
                predicted = float(-(delta @ g) + damping * (delta.square() @ scale))
                gain = max((state.loss - new.loss) / predicted, 0.3) if predicted > 0 else 0.3
                return new, max(damping * max(0.1, 1 - (2 * gain - 1) ** 3), 1e-18)
        damping, grow = damping * grow, 2 * grow
    return None, damping


def normal_equations(state: _State, x1: Float[Tensor, "N d1"]) -> tuple[Float[Tensor, "p p"], Float[Tensor, " p"]]:
    """H = JᵀJ and g = Jᵀr. The parameters are ordered as A node by node, then U row by row.

    Args:
        state: Weights, gates, activations and residuals.
        x1: Points with a last column of ones, (N, d1).
    """
    V, (d1, n), C = state.U[:-1], state.A.shape, state.U.shape[1]
    Q = (state.z.unsqueeze(2) * x1.unsqueeze(1)).reshape(len(x1), n * d1)
    beta = (V @ V.T).repeat_interleave(d1, 0).repeat_interleave(d1, 1)
    AA = (Q.T @ Q) * beta
    AU = ((Q.T @ state.f).reshape(n, d1, n + 1, 1) * V.reshape(n, 1, 1, C)).reshape(n * d1, (n + 1) * C)
    UU = torch.kron(state.f.T @ state.f, torch.eye(C, dtype=V.dtype, device=V.device))
    g = torch.cat([(state.g_1.T @ x1).flatten(), (state.f.T @ state.r).flatten()])
    return torch.cat([torch.cat([AA, AU], 1), torch.cat([AU.T, UU], 1)]), g
