"""One SGD step of all lanes: forward, backward and update by hand, in place, in buffers that are made once.

Back-propagation of f_l = σ(f_{l-1} W_l + b_l), with g_L = ∂ℓ/∂f_L and η the learning rate over a batch of B:

    g_{l-1} = σ'(f_{l-1}) ⊙ (g_l W_lᵀ),    W_l ← W_l − (η/B) f_{l-1}ᵀ g_l,    b_l ← b_l − (η/B) Σ_x g_l(x).

The step is linear in g_L, so −η/B multiplies g_L once, a rate of its own for every lane if wanted, and each update is
one batched product added onto the weights. Autograd would keep and allocate what is overwritten here; the tests hold
this file against it.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.nets.mlp import MLP
from relulab.train.losses import Loss


class Step:
    """SGD on ``net`` in place; ``lr`` is one rate or one a lane."""

    def __init__(self, net: MLP, loss: Loss, lr: float | Sequence[float], batch: int):
        self.W, self.b = [p.data for p in net.W], [p.data for p in net.b]
        self.loss, self.slope, self.bias = loss, net.slope, net.bias
        self.f = [W.new_empty(net.lanes, batch, W.shape[2]) for W in self.W]
        self.g = [torch.empty_like(f) for f in self.f[:-1]]
        rate = torch.as_tensor(lr, dtype=torch.float64).expand(net.lanes)
        self.scale = (-rate / batch).to(net.dtype)[:, None, None]

    @torch.no_grad()
    def __call__(self, x: Float[Tensor, "lane batch d"], y: Float[Tensor, "lane batch C"]) -> None:
        W, b, f = self.W, self.b, [x, *self.f]
        for l, W_l in enumerate(W):
            torch.baddbmm(b[l], f[l], W_l, out=f[l + 1])
            if l + 1 < len(W):
                torch.nn.functional.leaky_relu_(f[l + 1], self.slope)
        self.loss.residual_(f[-1], y)
        g = f[-1].mul_(self.scale)
        for l in reversed(range(len(W))):
            below = self._back(g, l) if l else None  # before W_l moves
            W[l].baddbmm_(f[l].mT, g)
            if self.bias:
                b[l].add_(g.sum(1, keepdim=True))
            g = below

    def _back(self, g: Tensor, l: int) -> Tensor:
        """g_{l-1} from g_l: through W_l, then gated by the units that were active (σ keeps the sign of its input)."""
        below, f = self.g[l - 1], self.f[l - 1]
        torch.bmm(g, self.W[l].mT, out=below)
        return torch.ops.aten.leaky_relu_backward.grad_input(below, f, self.slope, True, grad_input=below)


class StepByAutograd:
    """The same step for networks of another shape than ``MLP``, with gradients by autograd."""

    def __init__(self, net: nn.Module, loss: Loss, lr: float | Sequence[float], batch: int):
        self.net, self.loss, self.parameters = net, loss, list(net.parameters())
        rate = torch.as_tensor(lr, dtype=torch.float64).expand(net.lanes)
        self.scale = (-rate / batch).to(net.dtype)[:, None, None]

    def __call__(self, x: Float[Tensor, "lane batch d"], y: Float[Tensor, "lane batch C"]) -> None:
        f = self.net(x)
        g = f.detach().clone()
        self.loss.residual_(g, y)
        for p, gradient in zip(self.parameters, torch.autograd.grad(f, self.parameters, g * self.scale), strict=True):
            p.data.add_(gradient)
