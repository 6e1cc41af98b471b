r"""Gradient flow of two-layer ReLU networks f(x) = aᵀρ(Wx) (IB eq. 2), and of the linear networks they become.

With g_j = Σ_i p_i y_i 1{w_jᵀx_i > 0} x_i the flow of a neuron is ẇ_j = a_j g_j, ȧ_j = w_jᵀ g_j. For constant g_j this
is a hyperbolic rotation of (w_j, a_j) in the plane spanned by g_j and the axis of a_j. Each step is such a rotation.
Like the flow (IB lemma A.4), it preserves ‖w_j‖² − a_j² and the sign of a_j up to rounding, for any step length.

At a kink of the ReLU, where w_jᵀx_i changes its sign, g_j jumps. A step of a neuron that crosses a kink is therefore
divided into short ones, with the pulls p_i at the middle of the step, and in each of them a point counts with the share
of the time in which it is active. Otherwise, such a neuron would be wrong by up to half of a step at every kink, and a
small neuron that turns fast crosses several kinks in one step.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from relulab.flow.margin_losses import LogLoss, log_cross_entropy
from relulab.flow.on_log_loss import Pull

FASTEST = 1e6  # upper limit of |a_j|/‖w_j‖ in the step length
PARTS = 8  # number of parts of a step in which a neuron crosses a kink
BEYOND = 1e-3  # a neuron passes a kink by this share of its way to it, or it would never become inactive


class Neurons(NamedTuple):
    """The neurons (w_j, a_j) of every lane."""

    W: Float64[Tensor, "lane p d"]
    a: Float64[Tensor, "lane p"]


class TwoLayer:
    """Dynamics of the neurons of each lane on its data set."""

    def __init__(self, X: Float64[Tensor, "lane n d"], y: Float64[Tensor, "lane n"], loss: LogLoss = log_cross_entropy):
        self.X, self.y, self.loss = X, y, loss

    def gates(self, state: Neurons) -> Bool[Tensor, "lane n p"]:
        """Return which neuron is active at which point, (lane, n, p)."""
        return self.X @ state.W.mT > 0

    def pull(self, state: Neurons) -> Pull:
        z = self.X @ state.W.mT
        m = self.y * (z.relu() @ state.a[..., None])[..., 0]
        log_loss, p = self.loss(m)
        g = ((self.y * p)[..., None] * (z > 0)).mT @ self.X
        square = (state.a[..., None] * g).square().sum((-2, -1)) + (state.W * g).sum(-1).square().sum(-1)
        norms, size = state.W.norm(dim=-1), g.norm(dim=-1)
        # Since ẇ_j = a_j g_j, a neuron with |a_j| > ‖w_j‖ rotates faster by the factor |a_j|/‖w_j‖.
        speed = size * (state.a.abs() / norms.where(norms > 0, 1)).clamp(1, FASTEST)
        active = (z > 0).to(z.dtype) @ state.a.square()[..., None]
        stiff = (p * (active[..., 0] * self.X.square().sum(-1) + z.relu().square().sum(-1))).sum(-1)
        return Pull((g, z, p), log_loss, speed.amax(-1), square, stiff)

    def stepped(self, state: Neurons, first: Pull, middle: Pull, h: Float64[Tensor, " lane"]) -> Neurons:
        """Take a step with the pull at its midpoint; neurons that cross a kink take it in parts."""
        (_, z, _), (g, half, p) = first.along, middle.along
        # all of the start, the middle and, by extrapolation, the end must be on the same side
        crosses = (((z > 0) != (half > 0)) | ((z > 0) != (2 * half > z))).any(1)
        new = self.moved(state, (g,), h)
        for lane in crosses.any(1).nonzero()[:, 0].tolist():
            which, X, pushes = crosses[lane], self.X[lane], self.y[lane] * p[lane]
            part = Neurons(state.W[lane : lane + 1, which], state.a[lane : lane + 1, which])
            for _ in range(PARTS):
                part = self._part(part, X, pushes, h[lane : lane + 1] / PARTS)
            new.W[lane, which], new.a[lane, which] = part.W[0], part.a[0]
        return new

    def _part(self, state: Neurons, X: Tensor, pushes: Tensor, h: Tensor) -> Neurons:
        """Move some neurons of one lane, with constant pulls y_i p_i."""
        z = X @ state.W[0].T
        half = X @ self.moved(state, (((z > 0).T * pushes @ X)[None],), h / 2).W[0].T
        end = 2 * half - z
        crossed, leaves = (z > 0) != (end > 0), (z > 0) & (end <= 0)
        share = (z.relu() + end.relu()) / torch.where(crossed, (z - end).abs(), 1)
        share = torch.where(leaves, share * (1 + BEYOND), share).clamp(max=1)
        return self.moved(state, ((torch.where(crossed, share, (z > 0).to(z.dtype)).T * pushes @ X)[None],), h)

    def moved(self, state: Neurons, along: tuple[Tensor, ...], h: Float64[Tensor, " lane"]) -> Neurons:
        g = along[0]
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

    def __init__(
        self,
        X: Float64[Tensor, "lane n d"],
        y: Float64[Tensor, "lane n"],
        neurons: Neurons,
        loss: LogLoss = log_cross_entropy,
    ):
        self.X, self.y, self.neurons, self.loss = X, y, neurons, loss
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
        log_loss, p = self.loss(self.y * f)
        g = (self.of_label * (self.y * p)[:, None]) @ self.X
        w2 = ((state.B[..., :-1, :-1] @ g[..., None])[..., 0] * g).sum(-1)
        square = (state.B[..., -1, -1] * g.square().sum(-1) + w2).sum(-1)
        return Pull((g,), log_loss, g.norm(dim=-1).amax(-1), square, torch.zeros_like(log_loss))

    def stepped(self, state: Moments, first: Pull, middle: Pull, h: Float64[Tensor, " lane"]) -> Moments:
        return self.moved(state, middle.along, h)

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
