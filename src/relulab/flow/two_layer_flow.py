r"""Gradient flow of two-layer ReLU networks f(x) = aᵀρ(Wx) (IB eq. 2), and of the linear networks they become.

With g_j = Σ_i p_i y_i 1{w_jᵀx_i > 0} x_i the flow of a neuron is ẇ_j = a_j g_j, ȧ_j = w_jᵀ g_j. For constant g_j this
is a hyperbolic rotation of (w_j, a_j) in the plane spanned by g_j and the axis of a_j. Each step is such a rotation.
Like the flow (IB lemma A.4), it preserves ‖w_j‖² − a_j² and the sign of a_j up to rounding, for any step length.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from relulab.flow.on_log_loss import Pull, log_cross_entropy

FASTEST = 1e6  # upper limit of |a_j|/‖w_j‖ in the step length


class Neurons(NamedTuple):
    """The neurons (w_j, a_j) of every lane."""

    W: Float64[Tensor, "lane p d"]
    a: Float64[Tensor, "lane p"]


class TwoLayer:
    """Dynamics of the neurons of each lane on its data set."""

    def __init__(self, X: Float64[Tensor, "lane n d"], y: Float64[Tensor, "lane n"]):
        self.X, self.y = X, y

    def gates(self, state: Neurons) -> Bool[Tensor, "lane n p"]:
        """Return which neuron is active at which point, (lane, n, p)."""
        return self.X @ state.W.mT > 0

    def pull(self, state: Neurons) -> Pull:
        z = self.X @ state.W.mT
        m = self.y * (z.relu() @ state.a[..., None])[..., 0]
        log_loss, p = log_cross_entropy(m)
        g = ((self.y * p)[..., None] * (z > 0)).mT @ self.X
        square = (state.a[..., None] * g).square().sum((-2, -1)) + (state.W * g).sum(-1).square().sum(-1)
        norms, size = state.W.norm(dim=-1), g.norm(dim=-1)
        # Since ẇ_j = a_j g_j, a neuron with |a_j| > ‖w_j‖ rotates faster by the factor |a_j|/‖w_j‖.
        speed = size * (state.a.abs() / norms.where(norms > 0, 1)).clamp(1, FASTEST)
        active = (z > 0).to(z.dtype) @ state.a.square()[..., None]
        stiff = (p * (active[..., 0] * self.X.square().sum(-1) + z.relu().square().sum(-1))).sum(-1)
        return Pull((g,), log_loss, speed.amax(-1), square, stiff)

    def course(self, first: Pull, middle: Pull) -> tuple[Tensor, ...]:
        """Return the pull at the midpoint; a neuron that is inactive there moves half a step along its first pull.

        Otherwise such a neuron would stop before the boundary where it becomes inactive.
        """
        off = ~middle.along[0].any(-1, keepdim=True)
        return (torch.where(off, first.along[0] / 2, middle.along[0]),)

    def moved(self, state: Neurons, along: tuple[Tensor, ...], h: Float64[Tensor, " lane"]) -> Neurons:
        (g,) = along
        length = g.norm(dim=-1)
        u = g / length.where(length > 0, 1)[..., None]
        w = (state.W * u).sum(-1)
        cosh, sinh = _rotation(h[:, None] * length)
        return Neurons(state.W + u * (cosh * w + sinh * state.a)[..., None], state.a + cosh * state.a + sinh * w)


class Moments(NamedTuple):
    """For positive and negative neurons: the map from the initial to the current (w, a), and Σ (w, a)(w, a)ᵀ."""

    P: Float64[Tensor, "lane 2 d1 d1"]
    B: Float64[Tensor, "lane 2 d1 d1"]


class LinearPhase:
    """Dynamics once every neuron is either inactive, or active exactly on the points with label sign(a_j).

    Then all neurons of one sign have the same g and undergo the same rotation, and the network is equivalent to two
    linear networks, one on the points of each label: v₊ = Σ a_j w_j over the positive neurons, and v₋ over the negative
    ones (IB eqs. 15, 16). For each of them it is enough to follow the accumulated rotation of R^{d+1} and the matrix of
    second moments. So the cost of a step is two products with the data, independently of the width.
    """

    def __init__(self, X: Float64[Tensor, "lane n d"], y: Float64[Tensor, "lane n"], neurons: Neurons):
        self.X, self.y, self.neurons = X, y, neurons
        self.X_t = X.mT.contiguous()  # products with few rows are twice as fast in this layout
        self.of_label = torch.stack([y > 0, y < 0], 1).to(X.dtype)  # lane 2 n
        gates = TwoLayer(X, y).gates(neurons)
        active = gates.any(1)
        own = torch.stack([neurons.a > 0, neurons.a < 0], 1) & active[:, None]  # lane 2 p
        self.own = own.to(X.dtype)
        expected = (self.of_label.mT @ self.own) > 0
        self.applies = bool((gates == expected).all())

    def start(self) -> Moments:
        """Return the state at the start of the linear phase."""
        rows = torch.cat([self.neurons.W, self.neurons.a[..., None]], -1)  # lane p d+1
        B = (rows[:, None] * self.own[..., None]).mT @ rows[:, None]
        return Moments(torch.eye(B.shape[-1], dtype=B.dtype, device=B.device).expand_as(B), B)

    def neurons_at(self, state: Moments) -> Neurons:
        """Return the neurons at a state; inactive neurons are unchanged."""
        rows = torch.cat([self.neurons.W, self.neurons.a[..., None]], -1)
        inactive = 1 - self.own.sum(1)
        current = (self.own[..., None] * (rows[:, None] @ state.P.mT)).sum(1) + inactive[..., None] * rows
        return Neurons(current[..., :-1], current[..., -1])

    def holds(self, state: Moments) -> bool:
        """Whether every neuron is still active on the same points as at the start."""
        current = LinearPhase(self.X, self.y, self.neurons_at(state))
        return current.applies and torch.equal(current.own, self.own)

    def pull(self, state: Moments) -> Pull:
        v = state.B[..., :-1, -1]  # lane 2 d
        f = ((v @ self.X_t) * self.of_label).sum(1)
        log_loss, p = log_cross_entropy(self.y * f)
        g = (self.of_label * (self.y * p)[:, None]) @ self.X
        w2 = ((state.B[..., :-1, :-1] @ g[..., None])[..., 0] * g).sum(-1)
        square = (state.B[..., -1, -1] * g.square().sum(-1) + w2).sum(-1)
        return Pull((g,), log_loss, g.norm(dim=-1).amax(-1), square, torch.zeros_like(log_loss))

    def course(self, first: Pull, middle: Pull) -> tuple[Tensor, ...]:
        return middle.along

    def moved(self, state: Moments, along: tuple[Tensor, ...], h: Float64[Tensor, " lane"]) -> Moments:
        """Return T P and T B T with T = 1 + E (cosh − 1, sinh; sinh, cosh − 1) Eᵀ and E = (u, e_{d+1})."""
        (g,) = along
        length = g.norm(dim=-1, keepdim=True)
        E = torch.zeros(*g.shape[:-1], g.shape[-1] + 1, 2, dtype=g.dtype, device=g.device)
        E[..., :-1, 0] = g / length.where(length > 0, 1)
        E[..., -1, 1] = 1
        cosh, sinh = _rotation(h[:, None, None, None] * length[..., None])
        T = (cosh * E + sinh * E.flip(-1)) @ E.mT
        T.diagonal(dim1=-2, dim2=-1).add_(1)
        TP, TB = (T @ torch.cat(state, -1)).chunk(2, -1)
        return Moments(TP, TB @ T)


def _rotation(angle: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosh − 1, computed without cancellation, and sinh of the angle."""
    return 2 * torch.sinh(angle / 2).square(), torch.sinh(angle)
