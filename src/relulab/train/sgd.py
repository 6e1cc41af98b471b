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
    ``Task`` draws them with replacement, a ``LabelledTask`` goes through all its points. Probes count finished epochs,
    so their epoch 0 is the start; where they look at different epochs the gaps are NaN. The gradient is averaged over
    the batch; ``lr`` may differ by lane. ``tick`` is told the seed-steps done. A second call goes on where the first
    ended with ``first_epoch``, the epochs done before. ``fit`` has more to choose from.
    """
    optimizer = SGD(lr, momentum, nesterov, weight_decay)
    return fit(
        student, task, epochs=epochs, steps=steps, batch=batch, first_epoch=first_epoch, optimizer=optimizer, loss=loss,
        probes=probes, tick=tick,
    )  # fmt: skip
