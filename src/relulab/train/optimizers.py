"""Optimizers, with exactly the updates of ``torch.optim``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.explained import checks_itself
from relulab.core.value_words import shortened


@checks_itself("lr")
@dataclass(frozen=True)
class SGD:
    r"""Stochastic gradient descent with momentum μ, weight decay λ and learning rate η.

    v ← μ v + g + λ W,    W ← W − η v;    with ``nesterov``    W ← W − η (g + λ W + μ v).

    Here g is the gradient of the mean loss over the batch.

    Args:
        lr: Learning rate η, or one learning rate per lane.
        momentum: Momentum μ, from 0 to below 1.
        nesterov: Whether to use Nesterov momentum; needs a positive momentum.
        weight_decay: Weight decay λ, also applied to biases.

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
                "expected a momentum from 0 to below 1 and a weight decay of at least 0, got "
                f"momentum={self.momentum}, weight_decay={self.weight_decay}: change the value out of range"
            )
        if self.nesterov and not self.momentum:
            raise UserError("expected a positive momentum for nesterov=True, got momentum=0: set momentum=0.9")

    def of_torch(self, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
        """Return the corresponding optimizer of PyTorch, for a network without lanes.

        Args:
            parameters: The parameters to train.
        """
        options = {"momentum": self.momentum, "nesterov": self.nesterov, "weight_decay": self.weight_decay}
        return torch.optim.SGD(_checked(parameters), lr=one_rate(self), foreach=False, **options)


@checks_itself("lr")
@dataclass(frozen=True)
class Adam:
    r"""Adam: m ← β₁ m + (1 − β₁) g, s ← β₂ s + (1 − β₂) g², W ← W − η m̂ / (√ŝ + ε).

    Here m̂ = m / (1 − β₁ᵗ) and ŝ = s / (1 − β₂ᵗ) after t steps.

    Args:
        lr: Learning rate η, or one learning rate per lane.
        betas: Decay rates (β₁, β₂), each from 0 to below 1.
        eps: Constant ε in the denominator.
        weight_decay: Weight decay λ: λ W is added to the gradient.
    """

    lr: float | Sequence[float] = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _positive_rates(self)
        if not all(0 <= beta < 1 for beta in self.betas) or not self.eps >= 0 or not self.weight_decay >= 0:
            raise UserError(
                f"expected betas from 0 to below 1, and eps and weight_decay of at least 0, got betas={self.betas}, "
                f"eps={self.eps}, weight_decay={self.weight_decay}: change the value out of range"
            )

    def of_torch(self, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
        """Return the corresponding optimizer of PyTorch, for a network without lanes.

        Args:
            parameters: The parameters to train.
        """
        options = {"betas": self.betas, "eps": self.eps, "weight_decay": self.weight_decay}
        return torch.optim.Adam(_checked(parameters), lr=one_rate(self), foreach=False, **options)


Optimizer = SGD | Adam


def one_rate(optimizer: Optimizer) -> float:
    """Return the learning rate for a network without lanes."""
    if isinstance(optimizer.lr, int | float):
        return float(optimizer.lr)
    if len(optimizer.lr) != 1:
        raise UserError(
            f"expected one learning rate for a network without lanes, got {len(optimizer.lr)} learning rates: pass a "
            "single number as lr"
        )
    return float(optimizer.lr[0])


def rates(optimizer: Optimizer, lanes: int) -> float | tuple[float, ...]:
    """Return the learning rate for all lanes, or one learning rate per lane."""
    if isinstance(optimizer.lr, int | float):
        return float(optimizer.lr)
    if len(optimizer.lr) != lanes:
        raise UserError(
            f"expected one learning rate, or one per lane, got {len(optimizer.lr)} learning rates for {lanes} lanes: "
            "change lr"
        )
    return tuple(optimizer.lr)


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is not an optimizer of relulab, before training starts.

    Args:
        optimizer: ``SGD(…)`` or ``Adam(…)``.
    """
    if not isinstance(optimizer, SGD | Adam):
        in_torch = isinstance(optimizer, torch.optim.Optimizer)
        given = f"torch.optim.{type(optimizer).__name__}" if in_torch else shortened(optimizer)
        raise UserError(
            f"expected an optimizer of relulab, got {given}: use relulab.SGD(lr=0.1) or relulab.Adam(lr=0.001), which "
            "make the updates of torch.optim"
        )


def _checked(parameters: Iterable[Tensor]) -> list[Tensor]:
    found = list(parameters)
    if not found or not all(isinstance(parameter, Tensor) for parameter in found):
        raise UserError(f"expected at least one tensor to train, got {shortened(found)}: pass net.parameters()")
    return found


def _positive_rates(optimizer: Optimizer) -> None:
    lr: Any = optimizer.lr
    if callable(lr):
        raise UserError(
            "expected a learning rate, or one per lane, got a function: pass a number as lr, and the function to "
            "relulab.fit as schedule, which returns factors for the learning rate"
        )
    try:
        if not isinstance(lr, int | float):
            # A single number may also be an array or tensor without dimensions.
            single = isinstance(lr, np.generic | np.ndarray | Tensor) and not lr.ndim
            numbers = () if isinstance(lr, bytes | dict | set) else lr
            lr = float(lr) if single else tuple(float(rate) for rate in numbers)
    except (TypeError, ValueError, RuntimeError):
        raise UserError(f"expected a learning rate, or one per lane, got lr={shortened(lr)}: give numbers") from None
    if isinstance(lr, tuple) and not lr:
        raise UserError("expected a learning rate, or one per lane, got none: give at least one number as lr")
    object.__setattr__(optimizer, "lr", lr)
    if not all(rate > 0 for rate in (lr if isinstance(lr, tuple) else (lr,))):
        raise UserError(f"expected positive learning rates, got lr={lr}: change lr")
