"""One training step of all lanes of an MLP, without autograd: forward, backward and update in preallocated buffers.

Backpropagation for f_l = σ(f_{l−1} W_l + b_l), with g_L = ∂ℓ/∂f_L, learning rate η and batch size B:

    g_{l−1} = σ'(f_{l−1}) ⊙ (g_l W_lᵀ),    W_l ← W_l − (η/B) f_{l−1}ᵀ g_l,    b_l ← b_l − (η/B) Σ_x g_l(x).

The step is linear in g_L, so only g_L is multiplied by −η/B (η may differ between lanes), and each update is one
batched product that is added to the weights. With momentum μ, the product is added to u = v / μᵗ, which avoids
multiplying v by μ in memory, and u is then added to the weights; u is rescaled before it becomes large. This is faster
than autograd, which would allocate memory for all intermediate results. The tests compare both.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.products import is_large, products
from relulab.nets.mlp import MLP
from relulab.train.hooked import apart, hooked
from relulab.train.lane_updates import LaneUpdate, clip_factors, over
from relulab.train.losses import Loss
from relulab.train.optimizers import SGD, Optimizer, rates

LARGEST = 1e4  # largest factor between u and v before u is rescaled
OnBatch = Callable[[Tensor, Tensor], None]
"""function that is called with the outputs and targets of a batch before its training step"""


def by_hand(net: torch.nn.Module, loss: object) -> bool:
    """Whether ``Step`` can train ``net``: a plain MLP with all its parameters trained, and a ``Loss``.

    Subclasses of MLP are trained by autograd, because they may compute something else, and so are networks with tied
    weights or hooks.

    Args:
        net: The network.
        loss: The loss.
    """
    return (
        type(net) is MLP
        and not {"forward", "layers"} & vars(net).keys()
        and isinstance(loss, Loss)
        and all(isinstance(p, torch.nn.Parameter) for p in (*net.W, *net.b))
        and all(p.requires_grad for p in net.W)
        and all(p.requires_grad == net.bias for p in net.b)
        and apart((*net.W, *net.b))
        and not hooked(net)
    )


class Step:
    """A training step of ``optimizer`` on ``net``; gradients are clipped to the norm ``clip`` per lane, if given."""

    def __init__(
        self, net: MLP, loss: Loss, optimizer: Optimizer, clip: float | None = None, on_batch: OnBatch | None = None
    ):
        self.W, self.b = [p.data for p in net.W], [p.data for p in net.b]
        self.loss, self.slope, self.bias, self.clip, self.on_batch = loss, net.slope, net.bias, clip, on_batch
        self.optimizer, self.base, self.lanes, self.batch = optimizer, rates(optimizer, net.lanes), net.lanes, 0
        parameters = [*self.W, *(self.b if self.bias else [])]
        self.update: LaneUpdate | None = None
        self.u: list[Tensor] = []
        self.grown = 1.0  # u = grown · v
        if clip is not None or not isinstance(optimizer, SGD) or not self._straight(optimizer):
            self.update = LaneUpdate(optimizer, parameters, net.lanes)
            self.G = [torch.empty_like(p) for p in parameters]
            self._move = self._keep_gradient
        elif optimizer.momentum:
            self.mu, self.nesterov = optimizer.momentum, optimizer.nesterov
            self.u, self._move = [torch.zeros_like(p) for p in parameters], self._with_momentum
        else:
            self._move = self._plain
        self.scale(1.0)

    def scale(self, factor: float) -> None:
        """Multiply the learning rate of the optimizer by ``factor`` from now on."""
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
        """Allocate buffers for ``batch`` points per lane."""
        self.batch = batch
        self.f = [W.new_empty(self.lanes, batch, W.shape[2]) for W in self.W]
        self.g = [torch.empty_like(f) for f in self.f[:-1]]
        self.large = [is_large(batch, W.shape[1], W.shape[2], W) for W in self.W]
        self._weigh()

    def _weigh(self) -> None:
        """Set the factor of the gradient at the output: −η/B, or 1/B if η is applied later."""
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
            if self.large[l]:
                for f_l, made in zip(f[l + 1], products(f[l], W_l, b[l]), strict=True):
                    f_l.copy_(made)
            else:
                torch.baddbmm(b[l], f[l], W_l, out=f[l + 1])
            if l + 1 < len(W):
                torch.nn.functional.leaky_relu_(f[l + 1], self.slope)
        if self.on_batch:
            self.on_batch(f[-1], y)
        self.loss.residual_(f[-1], y)
        g = f[-1].mul_(self._grow() / self.batch if self.u else self.at_output)
        for l in reversed(range(len(W))):
            g_before = self._back(g, l) if l else g  # computed before W_l changes
            self._move(l, f[l], g)
            g = g_before
        if self.update:
            if self.clip is not None:
                factor = clip_factors(self.G, self.clip)
                for G in self.G:
                    G.mul_(over(factor, G))
            self.update(self.G)

    def _back(self, g: Tensor, l: int) -> Tensor:
        """Compute g_{l−1} from g_l; σ' follows from the sign of f_{l−1}, which is the sign of the input of σ."""
        g_before, f = self.g[l - 1], self.f[l - 1]
        if self.large[l]:
            for g_l, made in zip(g_before, products(g, self.W[l].mT), strict=True):
                g_l.copy_(made)
        else:
            torch.bmm(g, self.W[l].mT, out=g_before)
        return torch.ops.aten.leaky_relu_backward.grad_input(g_before, f, self.slope, True, grad_input=g_before)

    def _plain(self, l: int, f: Tensor, g: Tensor) -> None:
        """Update W ← (1 − ηλ) W + fᵀg, where g contains the factor −η/B."""
        if self.large[l]:
            if self.optimizer.weight_decay:
                self.W[l].mul_(self.shrink)
            for W, made in zip(self.W[l], products(f.mT, g), strict=True):
                W.add_(made)
        elif isinstance(self.shrink, Tensor):
            self.W[l].mul_(self.shrink).baddbmm_(f.mT, g)
        else:
            self.W[l].baddbmm_(f.mT, g, beta=self.shrink)
        if self.bias:
            (self.b[l].mul_(self.shrink) if self.optimizer.weight_decay else self.b[l]).add_(g.sum(1, keepdim=True))

    def _straight(self, optimizer: SGD) -> bool:
        """Whether gradients need not be stored, because they can be added to the weights or velocities directly."""
        both = optimizer.nesterov and optimizer.weight_decay
        return not optimizer.momentum or (isinstance(self.base, float) and not both)

    def _grow(self) -> float:
        """Multiply ``grown`` by 1/μ, which multiplies the old velocities by μ, and rescale u if it is large."""
        self.before, self.grown = self.grown, self.grown / self.mu
        if self.grown > LARGEST:
            for u in self.u:
                u.div_(self.before)
            self.before, self.grown = 1.0, self.grown / self.before
        return self.grown

    def _with_momentum(self, l: int, f: Tensor, g: Tensor) -> None:
        """Update v ← μ v + fᵀg + λ W and W ← W − η v, where g contains the factor ``grown``/B."""
        self._descend(self.W[l], self.u[l], lambda u: u.baddbmm_(f.mT, g))
        if self.bias:
            self._descend(self.b[l], self.u[len(self.W) + l], lambda u: u.add_(g.sum(1, keepdim=True)))

    def _descend(self, W: Tensor, u: Tensor, add_gradient: Callable[[Tensor], Tensor]) -> None:
        """Update W along u. For Nesterov, W ← W − η (g + μ v') equals W ← W + ημ v − η (1 + μ) v', as g = v' − μ v."""
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
        """Return the state that the next step depends on, besides the parameters."""
        grown = torch.tensor(self.grown, dtype=torch.float64)
        return self.update.state() if self.update else {"grown": grown, **{f"u.{i}": u for i, u in enumerate(self.u)}}

    def restore(self, state: dict[str, Tensor]) -> None:
        if self.update:
            self.update.restore(state)
            return
        self.grown = float(state["grown"])
        for i, u in enumerate(self.u):
            u.copy_(state[f"u.{i}"])
