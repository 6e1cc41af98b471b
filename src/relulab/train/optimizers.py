"""Optimizers: what a step makes of a gradient, with exactly the updates of ``torch.optim``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from relulab.core.errors import UserError


@dataclass(frozen=True)
class SGD:
    r"""Stochastic gradient descent with momentum μ, weight decay λ and rate η; g is the gradient of the mean loss.

    v ← μ v + g + λ W,    W ← W − η v;    with ``nesterov``    W ← W − η (g + λ W + μ v).

    Args:
        lr: η, one rate, or one a lane.
        momentum: μ, from 0 to below 1.
        nesterov: whether the step looks ahead along v; needs momentum.
        weight_decay: λ, which pulls all parameters, biases too, toward zero.

    >>> SGD(lr=[0.1, 0.2], momentum=0.9).lr
    (0.1, 0.2)
    """

    lr: float | Sequence[float] = 0.01
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _positive_rates(self)
        if not 0 <= self.momentum < 1 or not self.weight_decay >= 0:
            raise UserError(
                f"momentum={self.momentum}, weight_decay={self.weight_decay}: momentum is from 0 to below 1, weight "
                "decay at least 0"
            )
        if self.nesterov and not self.momentum:
            raise UserError("nesterov=True with momentum=0: Nesterov's step needs momentum, for instance momentum=0.9")

    def of_torch(self, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
        """PyTorch's own, for a network without lanes."""
        options = {"momentum": self.momentum, "nesterov": self.nesterov, "weight_decay": self.weight_decay}
        return torch.optim.SGD(parameters, lr=one_rate(self), foreach=False, **options)


@dataclass(frozen=True)
class Adam:
    r"""Adam: m ← β₁ m + (1 − β₁) g, s ← β₂ s + (1 − β₂) g², W ← W − η m̂ / (√ŝ + ε), with m̂ = m / (1 − β₁ᵗ), ŝ likewise.

    Args:
        lr: η, one rate, or one a lane.
        betas: (β₁, β₂).
        eps: ε.
        weight_decay: λ, added to the gradient as λ W.
    """

    lr: float | Sequence[float] = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _positive_rates(self)
        if not all(0 <= beta < 1 for beta in self.betas) or not self.eps >= 0 or not self.weight_decay >= 0:
            raise UserError(
                f"betas={self.betas}, eps={self.eps}, weight_decay={self.weight_decay}: betas are from 0 to below 1, "
                "the other two at least 0"
            )

    def of_torch(self, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
        """PyTorch's own, for a network without lanes."""
        options = {"betas": self.betas, "eps": self.eps, "weight_decay": self.weight_decay}
        return torch.optim.Adam(parameters, lr=one_rate(self), foreach=False, **options)


Optimizer = SGD | Adam


def one_rate(optimizer: Optimizer) -> float:
    """The rate of a network without lanes."""
    if isinstance(optimizer.lr, int | float):
        return float(optimizer.lr)
    if len(optimizer.lr) != 1:
        raise UserError(f"{len(optimizer.lr)} learning rates for a network without lanes: give one")
    return float(optimizer.lr[0])


def rates(optimizer: Optimizer, lanes: int) -> float | tuple[float, ...]:
    """One rate for all lanes, or one for each."""
    if isinstance(optimizer.lr, int | float):
        return float(optimizer.lr)
    if len(optimizer.lr) != lanes:
        raise UserError(f"{len(optimizer.lr)} learning rates for {lanes} lanes: give one, or one a lane")
    return tuple(optimizer.lr)


def _positive_rates(optimizer: Optimizer) -> None:
    lr = optimizer.lr if isinstance(optimizer.lr, int | float) else tuple(float(rate) for rate in optimizer.lr)
    object.__setattr__(optimizer, "lr", lr)
    if not all(rate > 0 for rate in (lr if isinstance(lr, tuple) else (lr,))):
        raise UserError(f"lr={lr}: learning rates must be positive")
