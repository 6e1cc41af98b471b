"""Plain SGD over all lanes of a student, with probes."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
import xarray as xr

from relulab.data.task import Task
from relulab.errors import UserError
from relulab.nets.mlp import MLP
from relulab.train.feed import feed
from relulab.train.losses import MSE, Loss
from relulab.train.probe import Probe, Recorder
from relulab.train.step import Step


def sgd(
    student: MLP,
    task: Task,
    *,
    epochs: int,
    steps: int = 1000,
    batch: int = 16,
    lr: float | Sequence[float] = 0.01,
    loss: Loss | None = None,
    probes: Sequence[Probe] = (),
    tick: Callable[[int], None] = lambda seed_steps: None,
) -> xr.Dataset:
    """Trains every lane of ``student`` on its lane of ``task``, in place, and returns what the probes read.

    An epoch is ``steps`` batches drawn with replacement. The gradient is averaged over the batch; ``lr`` may differ
    by lane. ``tick`` is told the seed-steps done, once an epoch.
    """
    if student.lanes != task.teacher.lanes or student.widths[0] != task.inputs.d:
        raise UserError(
            f"student of {student.lanes} lanes with {student.widths[0]} inputs for a task of {task.teacher.lanes} "
            f"lanes with {task.inputs.d}: they must agree"
        )
    if student.widths[-1] != task.teacher.widths[-1]:
        raise UserError(f"student has {student.widths[-1]} outputs, the teacher {task.teacher.widths[-1]}")
    loss = loss or MSE()
    step, recorder = Step(student, loss, lr, batch), Recorder(probes, epochs)
    recorder.look(student, 0)
    for epoch in range(epochs):
        points = task.train(epoch)
        points = replace(points, Y=loss.targets(points.Y))
        for x, y in feed(points, task.batches(epoch, steps, batch)):
            step(x, y)
        tick(student.lanes * steps)
        recorder.look(student, epoch + 1)
    return recorder.dataset() if recorder.kept else xr.Dataset()


def one_thread() -> None:
    """One thread for this process: small products lose on two, and results stay the same bits everywhere."""
    torch.set_num_threads(1)
