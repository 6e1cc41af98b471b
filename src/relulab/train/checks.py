"""Checks of the arguments before training starts."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from relulab.core.errors import UserError
from relulab.data.task import TrainingTask
from relulab.data.tensor_task import TensorTask
from relulab.nets.mlp import MLP
from relulab.train.losses import Loss
from relulab.train.optimizers import Optimizer, one_rate, rates
from relulab.train.probe import Probe
from relulab.train.readings import whole_number


def check(
    net: nn.Module, task: TrainingTask, epochs: int, steps: int | None, batch: int, first_epoch: int,
    optimizer: Optimizer, clip: float | None, probes: Sequence[Probe], loss: Any = None,
) -> int:  # fmt: skip
    """Check the arguments of ``fit`` and return the number of training steps per epoch."""
    for name, number in {"epochs": epochs, "steps": steps, "batch": batch, "first_epoch": first_epoch}.items():
        if number is not None:
            whole_number(name, number)
    if min(epochs + 1, batch, first_epoch + 1, 1 if steps is None else steps) < 1:
        raise UserError(
            f"expected steps and batch of at least 1 and epochs and first_epoch of at least 0, got steps={steps}, "
            f"batch={batch}, epochs={epochs}, first_epoch={first_epoch}: change the value out of range"
        )
    if clip is not None and not clip > 0:
        raise UserError(f"expected a positive gradient norm for clipping, got clip={clip}: use None for no clipping")
    steps = task.steps(batch) if steps is None else steps
    if steps < 1:
        raise UserError(
            f"expected at least one full batch, but the task has fewer than batch={batch} points: reduce batch"
        )
    _same_lanes(net, task)
    _same_type(net, task)
    if isinstance(task, TensorTask):
        _known_shapes(net, task, loss)
    rates(optimizer, int(getattr(net, "lanes", 1))) if hasattr(net, "lanes") else one_rate(optimizer)
    _probes_in_time(probes, first_epoch, epochs, steps)
    return steps


def _same_lanes(net: nn.Module, task: TrainingTask) -> None:
    lanes, widths = getattr(net, "lanes", None), getattr(net, "widths", None)
    if lanes is None and task.lanes != 1:
        raise UserError(
            f"expected a task with one lane for a {type(net).__name__} without lanes, got {task.lanes} lanes: use one "
            "seed, or a network with an attribute lanes and a leading axis of this length in every parameter"
        )
    inputs, outputs = getattr(task, "d", None), getattr(task, "outputs", None)
    known_widths = isinstance(widths, tuple) and inputs is not None
    if lanes is not None and lanes != task.lanes:
        raise UserError(
            f"expected a network with as many lanes as the task ({task.lanes}), got {lanes}: use the same seeds"
        )
    if lanes is not None and known_widths and widths[0] != inputs:
        raise UserError(
            f"expected a network with as many inputs as the task ({inputs}), got {widths[0]}: change the first width"
        )
    if known_widths and outputs is not None and widths[-1] != outputs:
        raise UserError(
            f"expected a network with as many outputs as the task ({outputs}), got {widths[-1]}: change the last width"
        )


def _same_type(net: nn.Module, task: TrainingTask) -> None:
    task_type = getattr(task, "dtype", None)
    net_type = next((p.dtype for p in net.parameters() if p.is_floating_point()), None)
    if net_type is not None and task_type is not None and task_type.is_floating_point and net_type != task_type:
        raise UserError(
            f"expected the same dtype in network and task, got {net_type} in the network and {task_type} in the task: "
            "convert one of them"
        )


def _known_shapes(net: nn.Module, task: TensorTask, loss: Any) -> None:
    X, Y = (tuple(A.shape[1:]) for A in (task.train().X, task.train().Y))
    if type(net) is MLP and (len(X) != 2 or not task.dtype.is_floating_point):
        raise UserError(
            f"expected real numbers of shape (N, {net.widths[0]}) as inputs of an MLP, got {task.dtype} of shape {X}: "
            "convert or reshape the inputs"
        )
    if not isinstance(loss, Loss):
        return  # a function of the user may take targets of any shape
    if task.classes and len(Y) != 1:
        raise UserError(
            f"expected classes as integers of shape (N,), got integers of shape {Y}: pass one class per point, such as "
            "Y[:, 0], or real numbers"
        )
    if type(net) is MLP and len(Y) > 2:
        raise UserError(
            f"expected targets of shape (N, {net.widths[-1]}) for an MLP, got {Y}: reshape the targets, for example "
            "with Y.flatten(1)"
        )


def _probes_in_time(probes: Sequence[Probe], first: int, epochs: int, steps: int) -> None:
    for probe in probes:
        for name, times, low, high in (
            ("epoch", probe.epochs, first, first + epochs),
            ("step", probe.steps, first * steps, (first + epochs) * steps),
        ):
            outside = [at for at in times if not low <= at <= high]
            if outside:
                raise UserError(
                    f"expected probes at {name}s from {low} (the start) to {high} (the end), got {name} {outside[0]}: "
                    f"change the {name}s of the probe, or train longer"
                )
