"""What must fit together before training begins, each mistake said in a sentence."""

from collections.abc import Sequence

from torch import nn

from relulab.core.errors import UserError
from relulab.data.task import TrainingTask
from relulab.train.optimizers import Optimizer, one_rate, rates
from relulab.train.probe import Probe


def check(
    net: nn.Module, task: TrainingTask, epochs: int, steps: int | None, batch: int, first_epoch: int,
    optimizer: Optimizer, clip: float | None, probes: Sequence[Probe],
) -> int:  # fmt: skip
    """The steps of an epoch, once everything fits."""
    if min(epochs + 1, batch, first_epoch + 1, 1 if steps is None else steps) < 1:
        raise UserError(
            f"epochs={epochs}, steps={steps}, batch={batch}, first_epoch={first_epoch}: all must be positive (epochs "
            "and first_epoch may be 0)"
        )
    if clip is not None and not clip > 0:
        raise UserError(f"clip={clip}: gradients are clipped to a positive norm")
    steps = task.steps(batch) if steps is None else steps
    if steps < 1:
        raise UserError(f"batches of {batch} points: there are fewer points than that")
    _same_lanes(net, task)
    _same_type(net, task)
    rates(optimizer, int(getattr(net, "lanes", 1))) if hasattr(net, "lanes") else one_rate(optimizer)
    _probes_in_time(probes, first_epoch, epochs, steps)
    return steps


def _same_lanes(net: nn.Module, task: TrainingTask) -> None:
    lanes, widths = getattr(net, "lanes", None), getattr(net, "widths", None)
    if lanes is None and task.lanes != 1:
        raise UserError(
            f"a {type(net).__name__} without lanes for a task of {task.lanes} lanes: give a task of one lane, or lanes "
            "to the network (an attribute lanes, and a leading axis of that size in every parameter)"
        )
    inputs, outputs = getattr(task, "d", None), getattr(task, "outputs", None)
    named = isinstance(widths, tuple) and inputs is not None
    if lanes is not None and (lanes != task.lanes or (named and widths[0] != inputs)):
        ours = f" with {widths[0]} inputs" if named else ""
        raise UserError(
            f"student of {lanes} lanes{ours} for a task of {task.lanes} lanes with {inputs}: they must agree"
        )
    if named and outputs is not None and widths[-1] != outputs:
        raise UserError(f"student has {widths[-1]} outputs, the task {outputs}")


def _same_type(net: nn.Module, task: TrainingTask) -> None:
    theirs = getattr(task, "dtype", None)
    ours = next((p.dtype for p in net.parameters() if p.is_floating_point()), None)
    if ours is not None and theirs is not None and theirs.is_floating_point and ours != theirs:
        raise UserError(f"the student is {ours}, the task {theirs}: give both the same dtype")


def _probes_in_time(probes: Sequence[Probe], first: int, epochs: int, steps: int) -> None:
    start = "the start" if not first else "where it begins"
    for probe in probes:
        for name, times, low, high in (
            ("epoch", probe.epochs, first, first + epochs),
            ("step", probe.steps, first * steps, (first + epochs) * steps),
        ):
            late = [at for at in times if not low <= at <= high]
            if late:
                raise UserError(
                    f"a probe wants to look at {name} {late[0]}, training has {name}s {low} ({start}) to {high}"
                )
