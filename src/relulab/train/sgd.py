"""Plain SGD over all lanes of a student, with probes."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import xarray as xr

from relulab.core.errors import UserError
from relulab.data.labelled_task import LabelledTask
from relulab.data.task import Task
from relulab.nets.mlp import MLP
from relulab.nets.residual import Residual
from relulab.train.feed import feed
from relulab.train.losses import MSE, Logistic, Loss
from relulab.train.probe import Probe, Recorder
from relulab.train.step import Step, StepByAutograd


def sgd(
    student: MLP | Residual,
    task: Task | LabelledTask,
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

    An epoch is ``steps`` batches: the e-th one, from 0, takes ``task.batches(e)`` of the points ``task.train(e)``. A
    ``Task`` draws them with replacement, a ``LabelledTask`` goes through all its points. Probes count finished epochs,
    so their epoch 0 is the start; where they look at different epochs the gaps are NaN. The gradient is averaged over
    the batch; ``lr`` may differ by lane. ``tick`` is told the seed-steps done, once an epoch.
    """
    if not isinstance(student, MLP | Residual):
        raise UserError(
            f"sgd trains an MLP or a Residual, not a {type(student).__name__}: MLP.of(module) makes an MLP of an "
            "nn.Sequential"
        )
    rates = [lr] if isinstance(lr, int | float) else list(lr)
    if min(epochs + 1, steps, batch) < 1 or not all(rate > 0 for rate in rates):
        raise UserError(
            f"epochs={epochs}, steps={steps}, batch={batch}, lr={lr}: all must be positive (epochs may be 0)"
        )
    if student.lanes != task.lanes or student.widths[0] != task.d:
        raise UserError(
            f"student of {student.lanes} lanes with {student.widths[0]} inputs for a task of {task.lanes} lanes with "
            f"{task.d}: they must agree"
        )
    if student.widths[-1] != task.outputs:
        raise UserError(f"student has {student.widths[-1]} outputs, the task {task.outputs}")
    if student.dtype != task.dtype:
        raise UserError(f"the student is {student.dtype}, the task {task.dtype}: give both the same dtype")
    if not isinstance(lr, int | float) and len(rates) != student.lanes:
        raise UserError(f"{len(rates)} learning rates for {student.lanes} lanes: give one, or one a lane")
    late = [epoch for probe in probes for epoch in probe.epochs if not 0 <= epoch <= epochs]
    if late:
        raise UserError(f"a probe wants to look at epoch {late[0]}, training has epochs 0 (the start) to {epochs}")
    loss = loss or (Logistic() if isinstance(task, LabelledTask) else MSE())
    make = Step if isinstance(student, MLP) else StepByAutograd
    step, recorder = make(student, loss, lr, batch), Recorder(probes, epochs)
    recorder.look(student, 0)
    for epoch in range(epochs):
        points = task.train(epoch)
        points = replace(points, Y=loss.targets(points.Y))
        for x, y in feed(points, task.batches(epoch, steps, batch)):
            step(x, y)
        tick(student.lanes * steps)
        recorder.look(student, epoch + 1)
    return recorder.dataset() if recorder.kept else xr.Dataset()
