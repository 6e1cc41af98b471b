"""Gradient flow of any network given as a function of its weights, by automatic differentiation."""

from collections.abc import Callable

import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.flow.margin_losses import LogLoss, log_cross_entropy
from relulab.flow.on_log_loss import Pull

Weights = tuple[Tensor, ...]
SMALL = 1e-3  # the norm of a layer counts as at least this fraction of the norm of all weights


class ByAutograd:
    """Dynamics of ``function(weights, X)``; every weight and the data have a leading lane axis."""

    def __init__(
        self,
        function: Callable[[Weights, Tensor], Float64[Tensor, "lane n 1"]],
        X: Float64[Tensor, "lane n d"],
        y: Float64[Tensor, "lane n"],
        loss: LogLoss = log_cross_entropy,
    ):
        self.function, self.X, self.y, self.loss = function, X, y, loss

    def pull(self, state: Weights) -> Pull:
        weights = tuple(w.detach().requires_grad_() for w in state)
        with torch.enable_grad():
            f = self.function(weights, self.X)[..., 0]
            log_loss, p = self.loss((self.y * f).detach())
            # −∂ log ℓ/∂f is known in closed form, so only the network is differentiated
            along = torch.autograd.grad(f, weights, self.y * p)
        sizes = torch.stack([w.flatten(1).norm(dim=1) for w in state])
        rates = torch.stack([g.flatten(1).norm(dim=1) for g in along])
        sizes = torch.maximum(sizes, SMALL * sizes.norm(dim=0))  # so that a layer of zeros can grow
        return Pull(along, log_loss, (rates / sizes).amax(0), rates.square().sum(0), torch.zeros_like(log_loss))

    def stepped(self, state: Weights, first: Pull, middle: Pull, h: Float64[Tensor, " lane"]) -> Weights:
        return self.moved(state, middle.along, h)

    def moved(self, state: Weights, along: Weights, h: Float64[Tensor, " lane"]) -> Weights:
        return tuple(w + h[:, None, None] * g for w, g in zip(state, along, strict=True))
