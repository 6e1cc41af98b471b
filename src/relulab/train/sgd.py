"""Plain SGD with probes: the short form of ``fit``."""

from collections.abc import Callable, Sequence
from typing import Any

import xarray as xr
from torch import nn

from relulab.data.task import TrainingTask
from relulab.train.by_autograd import AnyLoss
from relulab.train.fit import fit
from relulab.train.optimizers import SGD
from relulab.train.probe import Probe


def sgd(
    student: nn.Module,
    task: TrainingTask,
    *,
    epochs: int,
    steps: int = 1000,
    batch: int = 16,
    first_epoch: int = 0,
    lr: float | Sequence[float] = 0.01,
    momentum: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    loss: AnyLoss | None = None,
    probes: Sequence[Probe] = (),
    tick: Callable[[int], Any] = lambda seed_steps: None,
) -> xr.Dataset:
    """Trains every lane of ``student`` on its lane of ``task``, in place, and returns what the probes read.

    An epoch is ``steps`` batches: the e-th one, from 0, takes ``task.batches(e)`` of the points ``task.train(e)``. A
    ``Task`` draws them with replacement, other tasks go through their points in a random order. Probes count finished
    epochs, so their epoch 0 is the start; where they look at different epochs the gaps are NaN. The gradient is
    averaged over the batch. ``fit`` has more to choose from.

    Args:
        student: The networks, such as an ``MLP``, with as many lanes as the task.
        task: A ``Task``, ``LabeledTask`` or ``TensorTask``.
        epochs: Number of epochs; 0 only lets the probes look at the start.
        steps: Batches per epoch. Tasks with a fixed number of points must have at least that many batches.
        batch: Points per step.
        first_epoch: Number of epochs done before, for a second call that goes on where the first ended.
        lr: Learning rate, one for all lanes or one per lane.
        momentum: Momentum, from 0 to below 1.
        nesterov: Whether the step is Nesterov's, which needs momentum.
        weight_decay: λ, added to the gradient as λ W.
        loss: A loss of ours, or any differentiable loss(outputs, targets). None takes squares, cross-entropy for
            classes, logistic for labels ±1.
        probes: What looks at the networks, at epochs or at steps.
        tick: Told the number of seed-steps done.

    >>> import torch
    >>> from relulab.data.tensor_task import TensorTask
    >>> from relulab.nets.initial import torch_default
    >>> X, net = torch.linspace(-1, 1, 64)[:, None], torch_default((1, 4, 1), seeds=[0])
    >>> norm = Probe([0, 2], lambda net: {"norm": (("lane",), net.W[0].norm(dim=(1, 2)))})
    >>> sgd(net, TensorTask(X, X.abs()), epochs=2, steps=4, probes=[norm]).norm.dims
    ('epoch', 'lane')
    """
    optimizer = SGD(lr, momentum, nesterov, weight_decay)
    return fit(
        student, task, epochs=epochs, steps=steps, batch=batch, first_epoch=first_epoch, optimizer=optimizer, loss=loss,
        probes=probes, tick=tick,
    )  # fmt: skip
