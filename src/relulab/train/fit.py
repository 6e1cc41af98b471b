"""The one training loop: any network, with lanes or without, any optimizer, schedule and loss."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from torch import Tensor, nn

from relulab.data.label_noise import LabelNoise
from relulab.data.task import TrainingTask
from relulab.data.tensor_task import TensorTask
from relulab.train.by_autograd import AnyLoss
from relulab.train.checkpoint import Checkpoint
from relulab.train.checks import check
from relulab.train.devices import at_work, found_device, home_of
from relulab.train.meters import Meter, Meters
from relulab.train.optimizers import SGD, Optimizer
from relulab.train.probe import Probe, Recorder
from relulab.train.schedules import Schedule
from relulab.train.supply import Augment, Supply, default_loss
from relulab.train.training import Training, described, made_step

PLAIN = SGD(lr=0.01)


def fit(
    net: nn.Module,
    task: TrainingTask | tuple[Tensor, Tensor],
    *,
    epochs: int,
    steps: int | None = None,
    batch: int = 16,
    first_epoch: int = 0,
    optimizer: Optimizer = PLAIN,
    schedule: Schedule | None = None,
    loss: AnyLoss | None = None,
    clip: float | None = None,
    label_noise: float | LabelNoise = 0.0,
    augment: Augment | None = None,
    probes: Sequence[Probe] = (),
    meters: Mapping[str, Meter] | None = None,
    device: str | torch.device | None = None,
    checkpoint: Checkpoint | str | Path | None = None,
    tick: Callable[[int], Any] = lambda seed_steps: None,
) -> xr.Dataset:
    """Trains ``net`` on ``task``, in place, and returns what probes and meters read.

    A network with an attribute ``lanes`` is that many networks side by side, every parameter with a leading lane axis:
    it takes (lane, batch, …) and lane i learns lane i of the task as if it was alone. Any other module takes
    (batch, …) and a task of one lane. Epoch e takes ``task.batches(e)`` of the points ``task.train(e)``. The network is
    in train mode for the steps, in eval mode for the probes, and at the end as it was before.

    Args:
        net: the network.
        task: a ``Task``, ``LabeledTask`` or ``TensorTask``, or a pair of tensors: inputs (N, …) and targets (N,) or
            (N, C), integers for classes.
        epochs: how many; 0 only lets the probes look at the start.
        steps: batches an epoch; a pass over the points if not given.
        batch: points a step.
        first_epoch: the number of the first epoch, for training that goes on where an earlier call ended. Batches,
            schedule and probes count from it; the optimizer's memory, such as momentum, begins anew.
        optimizer: ``SGD`` or ``Adam``.
        schedule: what the rate is multiplied by, a function of the epoch, or of the step with ``by = "step"``.
        loss: one of ours, or any loss(outputs, targets) that gives one differentiable number (or one a lane); several
            exits reach it as the tuple or list that the network puts out. By default squares, cross-entropy for
            classes, logistic for labels ±1.
        clip: the norm that gradients are clipped to, over all parameters of a network.
        label_noise: the share of wrong classes, or the standard deviation of noise on numbers.
        augment: augment(x, generator) makes another batch (batch, …) of every batch of a network.
        probes: what looks at the network, at epochs or at steps; where they look at different ones the gaps are NaN.
        meters: names and functions meter(outputs, targets), each the mean of something over a batch; their means over
            the batches of an epoch, taken before each batch's step, are recorded after it.
        device: where to compute, such as "cuda"; the network is back where it was for probes and at the end.
        checkpoint: a file from which a killed training goes on, to the same bits; see ``Checkpoint``.
        tick: told of seed-steps done. Its attributes ``device`` and ``checkpoint``, which the lab's has, stand in for
            those not given.

    Returns:
        Variables by the names that probes and meters gave them, with a dimension ``epoch`` or ``step``.

    >>> from torch.nn import Linear, ReLU, Sequential
    >>> X = torch.linspace(-1, 1, 64)[:, None]
    >>> net = Sequential(Linear(1, 8), ReLU(), Linear(8, 1))
    >>> course = fit(net, (X, X.abs()), epochs=2, meters={"loss": lambda f, y: (f - y).square().mean()})
    >>> course.loss.dims, course.epoch.values.tolist()
    (('epoch',), [1, 2])
    """
    supplied: TrainingTask = TensorTask(*task) if isinstance(task, tuple) else task
    noise = label_noise if isinstance(label_noise, LabelNoise) else LabelNoise(label_noise)
    loss = default_loss(supplied) if loss is None else loss
    steps = check(net, supplied, epochs, steps, batch, first_epoch, optimizer, clip, probes)
    laned, home = hasattr(net, "lanes"), home_of(net)
    device = found_device(device or getattr(tick, "device", None), home)
    checkpoint = getattr(tick, "checkpoint", None) if checkpoint is None else checkpoint
    checkpoint = Checkpoint(Path(checkpoint)) if isinstance(checkpoint, str | Path) else checkpoint
    about = described(
        epochs=epochs, steps=steps, batch=batch, first_epoch=first_epoch, optimizer=optimizer, schedule=schedule,
        loss=loss, clip=clip, noise=noise, augment=augment, device=device, meters=list(meters or ()),
        probes=[(list(probe.epochs), list(probe.steps)) for probe in probes],
    )  # fmt: skip
    supply = Supply(supplied, loss, steps=steps, batch=batch, laned=laned, device=device, noise=noise, augment=augment)
    recorder, counted = Recorder(probes), Meters(meters, laned) if meters else None
    with at_work(net, device):
        step = made_step(net, loss, optimizer, clip, counted)
        Training(
            net, step, supply, recorder, counted, first=first_epoch, last=first_epoch + epochs, schedule=schedule,
            home=home, checkpoint=checkpoint, about=about, tick=tick,
        ).run()  # fmt: skip
    return recorder.dataset()
