"""Plain SGD with probes: a short form of ``fit``."""

from collections.abc import Callable, Sequence
from typing import Any

import xarray as xr
from torch import nn

from relulab.core.explained import checks_itself
from relulab.data.task import TrainingTask
from relulab.train.by_autograd import AnyLoss
from relulab.train.fit import fit
from relulab.train.optimizers import SGD
from relulab.train.probe import Probe
from relulab.train.progress import no_tick


@checks_itself("student", "task", "epochs", "steps", "batch", "first_epoch", "lr", "loss")
def sgd(
    student: nn.Module,
    task: TrainingTask,
    *,
    epochs: int,
    steps: int = 1000,
    batch: int = 16,
    first_epoch: int = 0,
    resume: bool = False,
    lr: float | Sequence[float] = 0.01,
    momentum: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    loss: AnyLoss | None = None,
    probes: Sequence[Probe] = (),
    tick: Callable[[int], Any] = no_tick,
    progress: bool | None = None,
) -> xr.Dataset:
    """Train every lane of ``student`` on its lane of ``task``, in place, and return the values recorded by probes.

    An epoch has ``steps`` training steps. In epoch e, the points are ``task.train(e)`` and the batches are
    ``task.batches(e, …)``. A ``Task`` draws batches with replacement; other tasks visit their points in random order.
    The gradient is averaged over the batch. Probes count finished epochs, so epoch 0 is the start. Where probes are
    evaluated at different epochs, the missing values are NaN. ``fit`` has more options. To train further, call ``sgd``
    again with ``resume=True``: two calls of 2 epochs give the same bits as one call of 4.

    Args:
        student: The networks, such as an ``MLP``, with as many lanes as the task.
        task: A ``Task``, ``LabeledTask`` or ``TensorTask``.
        epochs: Number of epochs. With 0, only the probes of the start are evaluated.
        steps: Number of training steps per epoch. One pass over a ``LabeledTask`` or ``TensorTask`` must have at least
            this many batches.
        batch: Number of points per training step.
        first_epoch: Number of the first epoch. To continue an earlier call, use ``resume``.
        resume: Whether to continue the last training of these networks: with the next epoch, so with new batches, and
            with their momentum.
        lr: Learning rate, one for all lanes or one per lane.
        momentum: Momentum, from 0 to below 1.
        nesterov: Whether to use Nesterov momentum; needs a positive momentum.
        weight_decay: Weight decay λ: λ W is added to the gradient.
        loss: A ``Loss``, or a differentiable function loss(outputs, targets). Default: logistic loss for a
            ``LabeledTask``, cross-entropy for integers (classes), and squared error for real numbers, also for ±1.
        probes: Measurements of the networks at given epochs or steps.
        tick: Function that is called with the number of new seed-steps (one training step of one seed).
        progress: Whether to show a progress bar, as in ``fit``.

    Returns:
        The recorded values by name, with a dimension ``epoch`` or ``step``. ``diverged_at`` is the step by which the
        weights of each lane had become NaN or infinite, or −1; see ``fit``.

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
        student, task, epochs=epochs, steps=steps, batch=batch, first_epoch=first_epoch, resume=resume,
        optimizer=optimizer, loss=loss, probes=probes, tick=tick, progress=progress,
    )  # fmt: skip
