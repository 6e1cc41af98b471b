"""One step of all lanes of an MLP: forward, backward and update by hand, in place, in buffers that are made once.

Back-propagation of f_l = σ(f_{l-1} W_l + b_l), with g_L = ∂ℓ/∂f_L and η the learning rate over a batch of B:

    g_{l-1} = σ'(f_{l-1}) ⊙ (g_l W_lᵀ),    W_l ← W_l − (η/B) f_{l-1}ᵀ g_l,    b_l ← b_l − (η/B) Σ_x g_l(x).

The step is linear in g_L, so −η/B multiplies g_L once, a rate of its own for every lane if wanted, and each update is
one batched product added onto the weights. With momentum μ the product is added onto u = v / μᵗ, which spares the pass
over memory that μ v would take, and u is then added onto the weights; u is scaled back before it grows large. Autograd
would keep and allocate what is overwritten here; the tests hold this file against it.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.train.lane_updates import LaneUpdate, clip_by_lane_, over
from relulab.train.losses import Loss
from relulab.train.optimizers import SGD, Optimizer, rates

LARGEST = 1e4  # factor by which velocities are kept too large, before they are scaled back
Seen = Callable[[Tensor, Tensor], None]
"""told of a batch's outputs and targets before its step"""


def by_hand(net: torch.nn.Module, loss: object) -> bool:
    """Whether the step by hand is the step of ``net``: a plain MLP, all of it trained, with a loss of ours.

    A subclass may have an activation or layers of its own, which only autograd knows.
    """
    return (
        type(net) is MLP
        and "forward" not in vars(net)
        and isinstance(loss, Loss)
        and all(p.requires_grad for p in net.W)
        and all(p.requires_grad == net.bias for p in net.b)
    )


class Step:
    """The step of ``optimizer`` on ``net``; gradients of every lane are clipped to the norm ``clip``, if given."""

    def __init__(self, net: MLP, loss: Loss, optimizer: Optimizer, clip: float | None = None, seen: Seen | None = None):
        self.W, self.b = [p.data for p in net.W], [p.data for p in net.b]
        self.loss, self.slope, self.bias, self.clip, self.seen = loss, net.slope, net.bias, clip, seen
        self.optimizer, self.base, self.lanes, self.batch = optimizer, rates(optimizer, net.lanes), net.lanes, 0
        moved = [*self.W, *(self.b if self.bias else [])]
        self.update: LaneUpdate | None = None
        self.u: list[Tensor] = []
        self.grown = 1.0  # u = grown · v
        if clip is not None or not isinstance(optimizer, SGD) or not self._straight(optimizer):
            self.update, self.G = LaneUpdate(optimizer, moved, net.lanes), [torch.empty_like(p) for p in moved]
            self._move = self._keep_gradient
        elif optimizer.momentum:
            self.mu, self.nesterov = optimizer.momentum, optimizer.nesterov
            self.u, self._move = [torch.zeros_like(p) for p in moved], self._with_momentum
        else:
            self._move = self._plain
        self.scale(1.0)

    def scale(self, factor: float) -> None:
        """Multiplies the optimizer's own rate from now on."""
        self.factor = factor
        if self.update:
            self.update.scale(factor)
        decay = self.optimizer.weight_decay
        if isinstance(self.base, float):
            self.rate = self.base * factor
            self.shrink: float | Tensor = 1 - self.rate * decay
        else:
            shrink = 1 - torch.tensor(self.base, dtype=torch.float64) * (factor * decay)
            self.shrink = over(shrink.to(self.W[0].device, self.W[0].dtype), self.W[0]) if decay else 1.0
        if self.batch:
            self._weigh()

    def _fit_to(self, batch: int) -> None:
        """Buffers for so many points a lane."""
        self.batch = batch
        self.f = [W.new_empty(self.lanes, batch, W.shape[2]) for W in self.W]
        self.g = [torch.empty_like(f) for f in self.f[:-1]]
        self._weigh()

    def _weigh(self) -> None:
        """The factor that the gradient at the output is multiplied by: −η/B, or 1/B where η comes in later."""
        self.at_output: float | Tensor = 1 / self.batch
        if not self.u and not self.update:
            rate = torch.as_tensor(self.base, dtype=torch.float64).expand(self.lanes) * self.factor
            self.at_output = (-rate / self.batch).to(self.W[0].device, self.W[0].dtype)[:, None, None]

    @torch.no_grad()
    def __call__(self, x: Float[Tensor, "lane batch d"], y: Float[Tensor, "lane batch C"]) -> None:
        if x.shape[1] != self.batch:
            self._fit_to(x.shape[1])
        W, b, f = self.W, self.b, [x, *self.f]
        for l, W_l in enumerate(W):
            torch.baddbmm(b[l], f[l], W_l, out=f[l + 1])
            if l + 1 < len(W):
                torch.nn.functional.leaky_relu_(f[l + 1], self.slope)
        if self.seen:
            self.seen(f[-1], y)
        self.loss.residual_(f[-1], y)
        g = f[-1].mul_(self._grow() / self.batch if self.u else self.at_output)
        for l in reversed(range(len(W))):
            below = self._back(g, l) if l else g  # before W_l moves
            self._move(l, f[l], g)
            g = below
        if self.update:
            if self.clip is not None:
                clip_by_lane_(self.G, self.clip)
            self.update(self.G)

    def _back(self, g: Tensor, l: int) -> Tensor:
        """g_{l-1} from g_l: through W_l, then gated by the units that were active (σ keeps the sign of its input)."""
        below, f = self.g[l - 1], self.f[l - 1]
        torch.bmm(g, self.W[l].mT, out=below)
        return torch.ops.aten.leaky_relu_backward.grad_input(below, f, self.slope, True, grad_input=below)

    def _plain(self, l: int, f: Tensor, g: Tensor) -> None:
        """W ← (1 − ηλ) W + fᵀg, where g has −η/B in it."""
        if isinstance(self.shrink, Tensor):
            self.W[l].mul_(self.shrink).baddbmm_(f.mT, g)
        else:
            self.W[l].baddbmm_(f.mT, g, beta=self.shrink)
        if self.bias:
            (self.b[l].mul_(self.shrink) if self.optimizer.weight_decay else self.b[l]).add_(g.sum(1, keepdim=True))

    def _straight(self, optimizer: SGD) -> bool:
        """Whether no gradient need be kept: it can be added onto the weights, or onto the velocities."""
        both = optimizer.nesterov and optimizer.weight_decay
        return not optimizer.momentum or (isinstance(self.base, float) and not both)

    def _grow(self) -> float:
        """Multiplies ``grown`` by 1/μ, so that of the old velocities μ is kept, and scales u back when it is large."""
        self.before, self.grown = self.grown, self.grown / self.mu
        if self.grown > LARGEST:
            for u in self.u:
                u.div_(self.before)
            self.before, self.grown = 1.0, self.grown / self.before
        return self.grown

    def _with_momentum(self, l: int, f: Tensor, g: Tensor) -> None:
        """v ← μ v + fᵀg + λ W, W ← W − η v, where g has ``grown``/B in it."""
        self._descend(self.W[l], self.u[l], lambda u: u.baddbmm_(f.mT, g))
        if self.bias:
            self._descend(self.b[l], self.u[len(self.W) + l], lambda u: u.add_(g.sum(1, keepdim=True)))

    def _descend(self, W: Tensor, u: Tensor, add_gradient: Callable[[Tensor], Tensor]) -> None:
        """With Nesterov's step, W ← W − η (g + μ v') is W ← W + ημ v − η (1 + μ) v', since g = v' − μ v."""
        if self.nesterov:
            W.add_(u, alpha=self.rate * self.mu / self.before)
        add_gradient(u)
        if self.optimizer.weight_decay:
            u.add_(W, alpha=self.optimizer.weight_decay * self.grown)
        W.add_(u, alpha=-self.rate * (1 + self.mu if self.nesterov else 1) / self.grown)

    def _keep_gradient(self, l: int, f: Tensor, g: Tensor) -> None:
        torch.bmm(f.mT, g, out=self.G[l])
        if self.bias:
            torch.sum(g, 1, keepdim=True, out=self.G[len(self.W) + l])

    def state(self) -> dict[str, Tensor]:
        """What the next step depends on, besides the parameters."""
        grown = torch.tensor(self.grown, dtype=torch.float64)
        return self.update.state() if self.update else {"grown": grown, **{f"u.{i}": u for i, u in enumerate(self.u)}}

    def restore(self, state: dict[str, Tensor]) -> None:
        if self.update:
            self.update.restore(state)
            return
        self.grown = float(state["grown"])
        for i, u in enumerate(self.u):
            u.copy_(state[f"u.{i}"])
