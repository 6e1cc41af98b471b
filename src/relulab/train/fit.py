"""Train any network, with or without lanes, with any optimizer, schedule and loss."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from relulab.core.explained import checks_itself
from relulab.data.label_noise import LabelNoise
from relulab.data.task import TrainingTask
from relulab.train.by_autograd import AnyLoss
from relulab.train.checkpoint import Checkpoint
from relulab.train.checks import check
from relulab.train.devices import at_work, found_device, home_of
from relulab.train.divergence import Divergence
from relulab.train.earlier import continued_state, earlier, forget, keep, tell_repeated_batches
from relulab.train.given import check_loss, given_checkpoint, given_task
from relulab.train.meters import Meter, Meters
from relulab.train.optimizers import SGD, Optimizer, check_optimizer
from relulab.train.probe import Probe, Recorder
from relulab.train.progress import no_tick, shown
from relulab.train.schedules import Schedule, check_schedule
from relulab.train.supply import Augment, Supply, default_loss
from relulab.train.training import Training, made_step

PLAIN = SGD(lr=0.01)


@checks_itself("net", "task", "epochs", "steps", "batch", "first_epoch", "optimizer", "schedule", "loss")
def fit(
    net: nn.Module,
    task: TrainingTask | Sequence[Tensor | np.ndarray],
    *,
    epochs: int,
    steps: int | None = None,
    batch: int = 16,
    first_epoch: int = 0,
    resume: bool = False,
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
    tick: Callable[[int], Any] = no_tick,
    progress: bool | None = None,
) -> xr.Dataset:
    """Train ``net`` on ``task``, in place, and return the values recorded by probes and meters.

    A network with an attribute ``lanes`` is a batch of this many networks, and every parameter has a leading lane axis.
    It takes inputs of shape (lane, batch, …), and lane i is trained on lane i of the task, independently of the others.
    Any other module takes inputs of shape (batch, …) and needs a task with one lane. In epoch e, the points are
    ``task.train(e)`` and the batches are ``task.batches(e, …)``. The network is in train mode during training steps
    and in eval mode during probes; its previous mode is restored at the end. To train further, call ``fit`` again with
    ``resume=True``: two calls of 2 epochs give the same bits as one call of 4.

    Args:
        net: The network.
        task: A ``Task``, ``LabeledTask`` or ``TensorTask``, or a pair of tensors or NumPy arrays: inputs, (N, …), and
            targets, (N,) or (N, C), or integers, (N,), for classes.
        epochs: Number of epochs. With 0, only the probes of the start are evaluated.
        steps: Number of training steps per epoch. Default: one pass over the points.
        batch: Number of points per training step.
        first_epoch: Number of the first epoch. It determines the batches, the schedule and the epochs of the probes. To
            continue an earlier call in the same process, use ``resume``.
        resume: Whether to continue the last training of this network: with its next epoch, so with new batches, and
            with the state of its optimizer, such as momentum. Otherwise training starts with ``first_epoch``.
        optimizer: ``SGD`` or ``Adam``.
        schedule: Function of the epoch, or of the step with ``by = "step"``, that returns a factor for the learning
            rate.
        loss: A ``Loss``, or a function loss(outputs, targets) that returns one differentiable number. If the network
            has several outputs, the function gets the tuple, list or dictionary of them. On a network with lanes, the
            function is called for each lane separately; if this fails, or if it has an attribute ``takes_lanes =
            True``, it is called once for all lanes and returns one number per lane. Default: logistic loss for a
            ``LabeledTask``, cross-entropy for integers (classes), and squared error for real numbers, also for ±1.
        clip: Largest norm of the gradient over all parameters of a network; larger gradients are scaled down to it.
        label_noise: Fraction of wrong labels for classes and for labels ±1 with the logistic loss; otherwise the
            standard deviation of the noise on the targets.
        augment: Function augment(x, generator) that returns an augmented batch, (batch, …).
        probes: Measurements of the network at given epochs or steps. Where probes are evaluated at different times, the
            missing values are NaN.
        meters: Functions meter(outputs, targets) by name, each returning a mean over a batch. The outputs are those
            before the training step on the batch. The means over the epoch are recorded after each epoch.
        device: Device for training, such as "cuda". Default: the device of the network. Probes get the network on its
            original device, and it returns there at the end.
        checkpoint: File from which a killed training run resumes with bitwise equal results; see ``Checkpoint``. The
            file of a training run with other settings, or other code of the functions given here, is ignored.
        tick: Function that is called with the number of new seed-steps (one training step of one seed). Its attributes
            ``device`` and ``checkpoint``, if any, are used when these arguments are not given.
        progress: Whether to show a progress bar. Default: in a terminal or a notebook, once training has taken a few
            seconds; not if there is a ``tick``, and not in the units of a study.

    Returns:
        The recorded values by name, with a dimension ``epoch`` or ``step``. ``diverged_at`` is the number of steps over
        all epochs after which the weights of each lane were found to be NaN or infinite, or −1 if they never were. If
        weights diverged, there is also a warning, ``relulab.Diverged``; the other lanes are not affected.

    >>> from torch.nn import Linear, ReLU, Sequential
    >>> X = torch.linspace(-1, 1, 64)[:, None]
    >>> net = Sequential(Linear(1, 8), ReLU(), Linear(8, 1))
    >>> course = fit(net, (X, X.abs()), epochs=2, meters={"loss": lambda f, y: (f - y).square().mean()})
    >>> course.loss.dims, course.epoch.values.tolist()
    (('epoch',), [1, 2])
    """
    check_loss(loss)
    check_optimizer(optimizer)
    check_schedule(schedule)
    supplied = given_task(net, task)
    noise = label_noise if isinstance(label_noise, LabelNoise) else LabelNoise(label_noise)
    loss = default_loss(supplied) if loss is None else loss
    before = earlier(net, resume, first_epoch)
    first_epoch = before.epoch if before else first_epoch
    steps = check(net, supplied, epochs, steps, batch, first_epoch, optimizer, clip, probes, loss)
    epochs, steps, batch, first_epoch = (int(number) for number in (epochs, steps, batch, first_epoch))
    if epochs and not before:
        tell_repeated_batches(net, task, first_epoch)
    laned, home = hasattr(net, "lanes"), home_of(net)
    device = found_device(device or getattr(tick, "device", None), home)
    # The folder of a study may be deleted while it runs, so only the file of a user must be in a folder.
    saved_to = getattr(tick, "checkpoint", None) if checkpoint is None else given_checkpoint(checkpoint)
    settings = {
        "epochs": epochs, "steps": steps, "batch": batch, "first_epoch": first_epoch, "optimizer": optimizer,
        "schedule": schedule, "loss": loss, "clip": clip, "noise": noise, "augment": augment, "device": device,
        "meters": meters, "resumed": before and before.state,
        "probes": [(list(probe.epochs), list(probe.steps), probe.measure) for probe in probes],
    }  # fmt: skip
    supply = Supply(supplied, loss, steps=steps, batch=batch, laned=laned, device=device, noise=noise, augment=augment)
    recorder, totals = Recorder(probes, meters or ()), Meters(meters, laned) if meters else None
    seed_steps = epochs * steps * int(getattr(net, "lanes", 1))
    with at_work(net, device), shown(tick, progress, seed_steps) as tick:
        step = made_step(net, loss, optimizer, clip, totals)
        if before:
            step.restore(continued_state(before, optimizer, step.state()))
        if epochs:
            forget(net)
        divergence = Divergence(net, batch, supplied.seeds, steps)
        Training(
            net, step, supply, recorder, totals, divergence, first=first_epoch, last=first_epoch + epochs,
            schedule=schedule, home=home, checkpoint=saved_to, settings=settings, tick=tick,
        ).run()  # fmt: skip
        if epochs:
            keep(net, task, first_epoch + epochs, optimizer, step.state())
    return divergence.recorded(recorder.dataset())
