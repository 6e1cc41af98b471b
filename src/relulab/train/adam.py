"""Adam on the binary cross-entropy of one module, epoch by epoch."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from relulab.core.errors import UserError


class Fit(NamedTuple):
    """Mean binary cross-entropy and share of right answers."""

    loss: float
    accuracy: float


def adam_epochs(
    net: nn.Module,
    x: Float[Tensor, "N ..."],
    y: Float[Tensor, " N"],
    *,
    epochs: int,
    order: Callable[[int], Int[np.ndarray, " N"]],
    batch: int = 128,
    lr: float = 1e-3,
    tick: Callable[[int], None] = lambda steps: None,
) -> Iterator[Fit]:
    """Trains ``net``, whose one output is the logit of y = 1, in place, and gives the fit of every epoch that is over.

    ``order(e)`` are the points in the order in which epoch e, from 0, takes them; the last batch may be a short one.
    The fit is the mean over an epoch's points, each as its batch met it, before that batch's step. All else of Adam is
    PyTorch's default: β = (0.9, 0.999), ε = 1e-8. ``tick`` is told of every step.
    """
    if min(epochs, batch) < 1 or not lr > 0:
        raise UserError(f"epochs={epochs}, batch={batch}, lr={lr}: all must be positive")
    optimiser = torch.optim.Adam(net.parameters(), lr=lr)
    for epoch in range(epochs):
        whole = np.zeros(2)
        for chosen in torch.from_numpy(order(epoch)).split(batch):
            logit = net(x[chosen])[:, 0]
            optimiser.zero_grad()
            binary_cross_entropy_with_logits(logit, y[chosen]).backward()
            optimiser.step()
            whole += len(chosen) * np.array(fit(logit, y[chosen]))
            tick(1)
        yield Fit(*(whole / len(x)).tolist())


def fit(logit: Float[Tensor, " N"], y: Float[Tensor, " N"]) -> Fit:
    """The fit of logits to labels 0 and 1, in float64."""
    logit, y = logit.detach().double(), y.double()
    return Fit(float(binary_cross_entropy_with_logits(logit, y)), float(((logit > 0) == (y > 0.5)).double().mean()))
