"""Losses with respect to the teacher: targets, gradients at the output, and reported values."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import log_softmax, one_hot, softmax, softplus


@runtime_checkable
class Loss(Protocol):
    """A loss ℓ(f, y).

    ``targets`` computes y from the teacher's output, ``residual_`` replaces f by ∂ℓ/∂f in place, and ``value`` returns
    the reported loss of each lane.
    """

    def targets(self, f_star: Tensor) -> Tensor: ...
    def residual_(self, f: Tensor, y: Tensor) -> None: ...
    def value(self, f: Tensor, y: Tensor) -> Tensor: ...


class MSE:
    """Squared error ½‖f* − f‖² (SS eq. 2); the reported value is the mean of (f* − f)² over samples and outputs."""

    def __repr__(self) -> str:
        return "MSE()"

    def targets(self, f_star: Float[Tensor, "*lane N C"]) -> Float[Tensor, "*lane N C"]:
        return f_star

    def residual_(self, f: Float[Tensor, "*lane N C"], y: Float[Tensor, "*lane N C"]) -> None:
        f.sub_(y)

    def value(self, f: Float[Tensor, "*lane N C"], y: Float[Tensor, "*lane N C"]) -> Float[Tensor, "*lane"]:
        return (f - y).square().mean((-2, -1))


class CrossEntropy:
    """Cross-entropy −Σ_c q_c log softmax(f)_c, where q is the teacher's class (its largest output) or its softmax.

    Args:
        soft: Whether the targets are the teacher's softmax instead of its class.
    """

    def __init__(self, soft: bool = False):
        self.soft = soft

    def __repr__(self) -> str:
        return f"CrossEntropy(soft={self.soft})"

    def targets(self, f_star: Float[Tensor, "*lane N C"]) -> Float[Tensor, "*lane N C"]:
        if self.soft:
            return softmax(f_star, -1)
        return one_hot(f_star.argmax(-1), f_star.shape[-1]).to(f_star.dtype)

    def residual_(self, f: Float[Tensor, "*lane N C"], y: Float[Tensor, "*lane N C"]) -> None:
        torch.softmax(f, -1, out=f)
        f.sub_(y)

    def value(self, f: Float[Tensor, "*lane N C"], y: Float[Tensor, "*lane N C"]) -> Float[Tensor, "*lane"]:
        return -(y * log_softmax(f, -1)).sum(-1).mean(-1)


class Logistic:
    """Logistic loss log(1 + exp(−y f)) for labels y = ±1 and one output (IB eq. 3); reported as mean over samples."""

    def __repr__(self) -> str:
        return "Logistic()"

    def targets(self, f_star: Float[Tensor, "*lane N 1"]) -> Float[Tensor, "*lane N 1"]:
        return f_star

    def residual_(self, f: Float[Tensor, "*lane N 1"], y: Float[Tensor, "*lane N 1"]) -> None:
        f.mul_(y).neg_().sigmoid_().mul_(y).neg_()

    def value(self, f: Float[Tensor, "*lane N 1"], y: Float[Tensor, "*lane N 1"]) -> Float[Tensor, "*lane"]:
        return softplus(-y * f).mean((-2, -1))
