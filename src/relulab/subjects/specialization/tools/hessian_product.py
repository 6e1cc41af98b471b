"""Products of the Hessian of a loss with vectors, for any module, without the matrix."""

from collections.abc import Callable
from copy import deepcopy

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.hooks import applied
from relulab.nets.mlp import MLP
from relulab.train.by_autograd import trained

LossFunction = Callable[[Tensor, Tensor], Tensor]
CHUNK = 5000  # points whose activations are kept at once
BATCH = 8  # products that are computed together: more are not faster


def default_loss(f: Tensor, y: Tensor) -> Tensor:
    """Return the mean over points of the cross-entropy for classes, or of ½‖f − y‖² for real targets.

    Args:
        f: Outputs, (N, C).
        y: Classes, (N,), as integers, or targets, (N, C).
    """
    if not y.is_floating_point():
        return nn.functional.cross_entropy(f, y.long())
    return 0.5 * (f - y).square().sum() / len(f)


class HessianProduct:
    """The Hessian of a loss with respect to all parameters that are trained, in float64, as the function v ↦ H v.

    Each product is two passes of automatic differentiation. ReLUs have second derivative 0, so the Hessian is that of
    the piece of the loss on which the parameters lie. The network is in eval mode.

    Args:
        net: A network, or an ``MLP`` with one lane. It is copied.
        x: Points, (N, …).
        y: Targets of the loss, (N, …).
        loss: Function of outputs and targets that returns their mean loss; None takes ``default_loss``.
    """

    def __init__(self, net: nn.Module, x: Tensor, y: Tensor, loss: LossFunction | None = None):
        self.net = deepcopy(net).double().eval()
        self.parameters = trained(self.net)
        self.size = sum(p.numel() for p in self.parameters)
        x = x.detach().double() if x.is_floating_point() else x.detach()
        y = y.detach().double() if y.is_floating_point() else y.detach()
        self.x, self.y, self.loss = x, y, loss or default_loss
        self._kept = self._gradient(x, y) if len(x) <= CHUNK else None

    def __call__(self, v: Float64[np.ndarray, "*batch P"]) -> Float64[np.ndarray, "*batch P"]:
        """Return H v, or several such products at once."""
        given = torch.from_numpy(np.ascontiguousarray(v)).to(self.parameters[0].device)
        if self._kept is not None:
            return self._times(self._kept, given)
        total = np.zeros_like(v)
        for x, y in zip(self.x.split(CHUNK), self.y.split(CHUNK), strict=True):
            total += self._times(self._gradient(x, y), given) * (len(x) / len(self.x))
        return total

    def matrix(self) -> Float64[np.ndarray, "P P"]:
        """Return H as a matrix, for small networks."""
        eye = np.eye(self.size)
        try:
            H = np.concatenate([self(eye[i : i + BATCH]) for i in range(0, self.size, BATCH)])
        except RuntimeError:  # a module that cannot be differentiated in several directions at once
            H = np.stack([self(row) for row in eye])
        return (H + H.T) / 2

    def _gradient(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the gradient as one vector that can be differentiated again."""
        with torch.enable_grad():
            f = applied(self.net, x)
            value = self.loss(f[0] if isinstance(self.net, MLP) else f, y)
            if not isinstance(value, Tensor) or value.numel() != 1 or not value.requires_grad:
                raise UserError(
                    "expected a loss function that returns one differentiable number, got "
                    f"{type(value).__name__}: return the mean over the points"
                )
            grads = torch.autograd.grad(value.sum(), self.parameters, create_graph=True, allow_unused=True)
            return torch.cat([
                (p * 0 if g is None else g).flatten() for p, g in zip(self.parameters, grads, strict=True)
            ])  # fmt: skip

    def _times(self, gradient: Tensor, v: Float[Tensor, "*batch P"]) -> Float64[np.ndarray, "*batch P"]:
        if not gradient.requires_grad:  # the loss is linear in all parameters
            return np.zeros(v.shape)
        several = v.dim() > 1
        products = torch.autograd.grad(
            gradient, self.parameters, v, retain_graph=True, allow_unused=True, is_grads_batched=several
        )
        parts = [
            torch.zeros(*v.shape[:-1], p.numel()).to(v) if h is None else h.reshape(*v.shape[:-1], p.numel())
            for p, h in zip(self.parameters, products, strict=True)
        ]
        return torch.cat(parts, -1).detach().cpu().numpy()
